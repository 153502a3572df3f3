//===- HeddleOps.td - every op of the heddle dialect ----------------------===//

#ifndef HEDDLE_OPS_TD
#define HEDDLE_OPS_TD

include "heddle/Dialect/Heddle/IR/HeddleAttentionOps.td"
include "heddle/Dialect/Heddle/IR/HeddleAttentionGradOps.td"
include "heddle/Dialect/Heddle/IR/HeddleScanOps.td"
include "heddle/Dialect/Heddle/IR/HeddleScanGradOps.td"
include "heddle/Dialect/Heddle/IR/HeddleScanMapOps.td"
include "heddle/Dialect/Heddle/IR/HeddleGraphOps.td"
include "heddle/Dialect/Heddle/IR/HeddleKernelOps.td"

#endif // HEDDLE_OPS_TD
