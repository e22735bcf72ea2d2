# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What CPack does to the files before it packs them: the form that Debian wants, which an
# installation by hand can do without.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
if(NOT IS_DIRECTORY ${share})
  set(share ${CPACK_TEMPORARY_DIRECTORY}/usr/share)
endif()
file(GLOB pages ${share}/man/man*/*.[1-8])
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/changelog ${share}/doc/rocin/changelog.Debian)
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/copyright ${share}/doc/rocin/copyright)
execute_process(COMMAND gzip -9n ${pages} ${share}/doc/rocin/changelog.Debian
  COMMAND_ERROR_IS_FATAL ANY)
