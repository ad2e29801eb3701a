// Convolutions of images as products: which element of which factor is where.
//
//   out[i][j] = the sum over l of a[i][l] * b[l][j], for each group of channels; b are the images
//   that windows are over (or the gradient of the results), and zero beyond them
#pragma once

#include "ops/cuda/layout/parameters.h"

namespace ofl::layout {

enum ConvolutionForm : int32 { kForward, kInputGradient, kWeightGradient };
enum : int32 { kOfY = 0, kOfX = 1, kSumBlock = 16 };  // channels of a block of a sum

/// A part of where an element of b is: bytes to its image and channel, and its place in the image.
struct Tap {
  int64 offset;
  int32 y, x;
};

/// Steps are bytes: from image to image, from block of channels to block, along y and x, and in a
/// block. Of weights: from result to result, from channel to channel, along y and x.
struct ConvolutionArgs {
  void* images = nullptr;
  void* weights = nullptr;
  void* results = nullptr;
  int64 image_steps[5] = {}, weight_steps[4] = {}, result_steps[5] = {};
  int64 lanes = 1;              // channels of a block; 1: these are not blocked
  int64 count = 0, groups = 1;  // images; groups
  int64 in = 0, out = 0;        // channels of a group
  int64 image[2] = {}, window[2] = {}, places[2] = {};
  int64 stride[2] = {}, before[2] = {}, dilation[2] = {};
  int64 m = 0, k = 0, n = 0;  // of the product of a group
  // Tables, which a kernel of its own fills: of positions, of what else b depends on, of rows, and
  // of elements of weights.
  Tap* positions = nullptr;  // [count * places], or of images
  int64* position_offsets = nullptr;
  Tap* taps = nullptr;              // [groups][terms, or columns]
  int64* a_rows = nullptr;          // [groups][m]
  int64* out_rows = nullptr;        // [groups][m]
  int64* weight_offsets = nullptr;  // of terms, or columns
  ConvolutionForm form = kForward;
  int32 unused = 0;
};

static_assert(sizeof(ConvolutionArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
