//===- DifferentiableOpInterface.cpp - reverse-mode rules of ops ----------===//

#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.h"

#include "heddle/Dialect/Heddle/IR/DifferentiableOpInterface.cpp.inc"
