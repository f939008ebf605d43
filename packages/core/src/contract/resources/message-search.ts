import * as z from 'zod'
import { limit } from '../endpoints/paging.ts'
import { phoneOrText, queryDateTime, text, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS } from './content.ts'
import { MESSAGE_STATUSES } from './message-status.ts'

/** The query of a search among the messages of a workspace. */
export const messageSearch = z.object({
  search: phoneOrText(text(LIMITS.message_search_length)).optional(),
  channel: z.enum(CHANNELS).optional(),
  status: z.enum(MESSAGE_STATUSES).optional(),
  startDate: queryDateTime.optional(),
  endDate: queryDateTime.optional(),
  bulk_id: uuid.optional(),
  after: uuid.optional(),
  limit,
})

/** The query of a search among the messages of a workspace. */
export type MessageSearch = z.output<typeof messageSearch>
