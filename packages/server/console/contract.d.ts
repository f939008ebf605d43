// Stands for `@svc/core/contract` when the pages are checked: the answers to operators use these two codecs, and the contract
// itself needs Node, which the pages must not use.
import type * as z from 'zod'

export declare const timestamp: z.ZodType<Date, string>
export declare const credits: z.ZodType<number, number>
