import * as z from 'zod'
import { limit } from '../endpoints/paging.ts'
import { phoneOrText, text, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS } from './content.ts'

/** The query of a search for contacts by the beginnings of their words. */
export const personSearch = z.object({
  search: phoneOrText(text(LIMITS.contact_search_length)),
  limit,
})

/** The query of a search for contacts. */
export type PersonSearch = z.output<typeof personSearch>

/** What a history of a contact consists of. */
export const PERSON_ENTRY_KINDS = ['message', 'received', 'verification'] as const

/** The query of a history. */
export const personHistory = z.object({
  kind: z.enum(PERSON_ENTRY_KINDS).optional(),
  channel: z.enum(CHANNELS).optional(),
  after: uuid.optional(),
  limit,
})

/** The query of a history. */
export type PersonHistory = z.output<typeof personHistory>
