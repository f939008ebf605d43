import { signal } from '@preact/signals'

/** Why the console could not begin. */
export const startError = signal<unknown>(undefined)
