import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { wholeNumber } from '../endpoints/paging.ts'
import { timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { EVENT_KINDS } from './events.ts'

/** An event as the API lists it: the body that webhooks get, with its id and its place. */
const listedEvent = z
  .object({
    id: uuid.meta({
      description: 'The id of the event: the header `webhook-id` of its deliveries.',
    }),
    event: z.enum(EVENT_KINDS),
    data: z.looseObject({}),
    created_at: timestamp,
  })
  .meta({ id: 'ListedEvent' })

/** The events of a workspace, for programs that cannot receive webhooks. */
export const events = {
  list: endpoint({
    method: 'GET',
    path: '/api/v1/events',
    auth: 'jwt_or_api_key',
    scope: 'read_messages',
    rate: 'general',
    status: 200,
    query: z.object({
      after: z.string().max(LIMITS.cursor_length).optional().meta({
        description:
          '`next_after` of the last answer. Default: the present; the answer has no events then.',
      }),
      wait: wholeNumber({
        min: 0,
        max: LIMITS.events_wait_s,
        byDefault: 0,
        otherwise: `wait must be a whole number of seconds, 0 to ${LIMITS.events_wait_s}`,
      }).default(0),
    }),
    data: z.object({
      events: z.array(listedEvent),
      next_after: z.string().meta({ description: 'The `after` of the next request.' }),
    }),
    failures: ['validation_error'],
    summary: 'List the events of the workspace, and wait for new ones',
    description: `The events that webhooks get, in the order in which they happened, at most ${LIMITS.events_page} in one answer. With \`wait\`, an answer without events is sent after that number of seconds. A test key gets events of test messages only. At most ${LIMITS.events_waiting_per_key} requests of one API key or session, and ${LIMITS.events_waiting_per_workspace} of a workspace, may wait at the same time; others get 429. An \`after\` behind which events are missing, for example after a restore, is 400: begin again without \`after\`.`,
  }),
} as const
