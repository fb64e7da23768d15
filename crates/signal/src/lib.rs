//! What runs inside the signal handler: guarded reads, unwinding, the frame walk, request buffers.
#![no_std]
