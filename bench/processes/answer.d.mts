import type { Handlers } from '../child.ts'

/** Answers the parent's questions, and ends when the parent is gone. */
export function answer(handlers: Handlers): void
