// Experimental functions that bindings use are declared with the others.
#ifndef THALWEG_C_C_API_EXPERIMENTAL_H_
#define THALWEG_C_C_API_EXPERIMENTAL_H_

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"

#endif
