// Strings by the names that TensorFlow's C++ headers have for them: some bindings use these.
#ifndef THALWEG_CORE_PLATFORM_CTSTRING_INTERNAL_H_
#define THALWEG_CORE_PLATFORM_CTSTRING_INTERNAL_H_

#include "tensorflow/c/tf_tstring.h"

static inline void TF_TString_Init(TF_TString* string) { TF_StringInit(string); }
static inline void TF_TString_Dealloc(TF_TString* string) { TF_StringDealloc(string); }
static inline size_t TF_TString_GetSize(const TF_TString* string) { return TF_StringGetSize(string); }
static inline size_t TF_TString_GetCapacity(const TF_TString* string) { return TF_StringGetCapacity(string); }
static inline const char* TF_TString_GetDataPointer(const TF_TString* string) { return TF_StringGetDataPointer(string); }
static inline TF_TString_Type TF_TString_GetType(const TF_TString* string) { return TF_StringGetType(string); }
static inline void TF_TString_Copy(TF_TString* string, const char* bytes, size_t size) { TF_StringCopy(string, bytes, size); }
static inline void TF_TString_AssignView(TF_TString* string, const char* bytes, size_t size) { TF_StringAssignView(string, bytes, size); }

#endif
