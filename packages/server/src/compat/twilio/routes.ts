import type { FastifyReply } from 'fastify'
import * as z from 'zod'
import { notFound, type TwilioError } from './errors.ts'
import type { Parameters } from './parameters.ts'

/** The path of the door. The official packages take it as the base URL of Twilio's API. */
export const PREFIX = '/compat/twilio'

const shared = {
  auth: 'api_key',
  rate: 'general',
  status: 200,
  enveloped: false,
  data: z.unknown(),
  write_data: (data: never) => (data === undefined ? '' : JSON.stringify(data)),
  summary: '',
} as const

/** What the endpoints that read have in common. */
export const reading = { ...shared, method: 'GET', scope: 'read_messages' } as const

/** What the endpoints that change something have in common. */
export const writing = {
  ...shared,
  method: 'POST',
  scope: 'send_messages',
  body: z.custom<Parameters>(),
  read_plain: (body: unknown) => body,
} as const

/** The error for a path that names nothing of the account. */
export function missing({ reply }: { reply: FastifyReply }): TwilioError {
  const path = reply.request.url.split('?', 1)[0] ?? ''
  return notFound(path.slice(PREFIX.length, 256))
}
