# The one place that names the LLVM version Heddle builds against.
set(HEDDLE_LLVM_VERSION 22)

# Debian's package prefix; override with -DMLIR_DIR=.../lib/cmake/mlir.
set(HEDDLE_LLVM_PREFIX "/usr/lib/llvm-${HEDDLE_LLVM_VERSION}")

macro(heddle_find_mlir)
  find_package(MLIR REQUIRED CONFIG PATHS "${HEDDLE_LLVM_PREFIX}/lib/cmake/mlir")
  message(STATUS "Using MLIR in ${MLIR_DIR}, LLVM ${LLVM_PACKAGE_VERSION}")
  if(NOT LLVM_VERSION_MAJOR EQUAL HEDDLE_LLVM_VERSION)
    message(FATAL_ERROR "expected LLVM ${HEDDLE_LLVM_VERSION}, found ${LLVM_PACKAGE_VERSION}; "
      "pass -DMLIR_DIR=<prefix>/lib/cmake/mlir of an LLVM ${HEDDLE_LLVM_VERSION} install")
  endif()
  list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
  include(TableGen)
  include(AddLLVM)
  include(AddMLIR)
endmacro()
