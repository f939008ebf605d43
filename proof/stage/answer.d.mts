import type { Handlers } from './child.ts'

/** Answers the parent's requests, and ends with the parent. */
export function answer(handlers: Handlers): void
