# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What CPack does to the files before it packs them: the form that Debian wants, which an
# installation by hand can do without.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
if(NOT IS_DIRECTORY ${root}/usr/share)
  set(root ${CPACK_TEMPORARY_DIRECTORY})
endif()
set(share ${root}/usr/share)
file(GLOB pages ${share}/man/man*/*.[1-8])
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/debian/changelog ${share}/doc/rocin/changelog.Debian)
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/copyright ${share}/doc/rocin/copyright)
execute_process(COMMAND gzip -9n ${pages} ${share}/doc/rocin/changelog.Debian
  COMMAND_ERROR_IS_FATAL ANY)
# A configuration file: an installation by hand leaves /etc alone.
file(COPY ${CPACK_ROCIN_DRIVER_FILE} DESTINATION ${root}/etc/libibverbs.d)
file(MAKE_DIRECTORY ${share}/lintian/overrides)
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/debian/rocin.lintian-overrides ${share}/lintian/overrides/rocin)
