import { CHANNELS, endpoint, LIMITS, phone, text } from '@svc/core/contract'
import * as z from 'zod'
import type {
  CapturedMail,
  PhoneItem,
  RequestLine,
  WholeMail,
  WholeRequest,
} from './dev-answers.ts'

const captured = {
  id: z.string(),
  from: z.enum(['service', 'sandbox']),
  to: z.string(),
  subject: z.string(),
  at: z.string(),
  state: z.string(),
}
const capturedMail = z.object(captured) satisfies z.ZodType<CapturedMail>
const wholeMail = z.object({
  ...captured,
  text: z.string().nullable(),
  html: z.string().nullable(),
  headers: z.array(z.tuple([z.string(), z.string()])),
  attachments: z.array(z.object({ name: z.string(), content_type: z.string(), bytes: z.int() })),
}) satisfies z.ZodType<WholeMail>

const phoneItem = z.object({
  id: z.string(),
  from: z.enum(['service', 'phone']),
  at: z.string(),
  channel: z.enum(CHANNELS),
  state: z.string().nullable(),
  ours: z.string().nullable(),
  title: z.string().nullable(),
  parts: z.array(z.string()),
  encoding: z.string().nullable(),
  non_gsm_characters: z.array(z.string()),
}) satisfies z.ZodType<PhoneItem>

const line = {
  id: z.int(),
  at: z.string(),
  request_id: z.string(),
  method: z.string(),
  path: z.string(),
  status: z.int(),
  duration_ms: z.number(),
  key: z.string().nullable(),
  error: z.string().nullable(),
}
const requestLine = z.object(line) satisfies z.ZodType<RequestLine>
const wholeRequest = z.object({
  ...line,
  request_body: z.string().nullable(),
  response_body: z.string().nullable(),
}) satisfies z.ZodType<WholeRequest>

const shared = { method: 'GET', auth: 'jwt', needs: 'read', rate: 'general', status: 200 } as const
const id = z.object({ id: z.string().max(64) })
/** Read by a frame or a link, which send no headers. */
const choice = z.object({ workspace: z.string().optional(), mode: z.string().optional() })
const file = { ...shared, query: choice, data: z.object({}), in_pieces: true } as const

/** The tools of `svc dev`. These endpoints exist only there, for browsers on the same machine. */
export const devEndpoints = {
  start: endpoint({
    ...shared,
    path: '/api/dev/start',
    data: z.object({ api_key: z.string().nullable() }),
    summary: 'Get the key of the demo, if the workspace is the demo workspace',
  }),
  mails: endpoint({
    ...shared,
    path: '/api/dev/mails',
    data: z.object({ mails: z.array(capturedMail) }),
    summary: 'List the captured mails',
  }),
  mail: endpoint({
    ...shared,
    path: '/api/dev/mails/:id',
    params: id,
    data: wholeMail,
    not_found: 'Mail not found',
    summary: 'Get a captured mail',
  }),
  mail_page: endpoint({
    ...file,
    path: '/api/dev/mails/:id/html',
    params: id,
    summary: 'Get the HTML of a captured mail as a page',
  }),
  mail_source: endpoint({
    ...file,
    path: '/api/dev/mails/:id/source',
    params: id,
    summary: 'Get the source of a captured mail',
  }),
  attachment: endpoint({
    ...file,
    path: '/api/dev/mails/:id/attachments/:index',
    params: z.object({ id: id.shape.id, index: z.coerce.number().int().min(0).max(1_000) }),
    summary: 'Get an attachment of a captured mail',
  }),
  phone: endpoint({
    ...shared,
    path: '/api/dev/phones/:number',
    params: z.object({ number: z.string().max(LIMITS.email_length) }),
    data: z.object({ items: z.array(phoneItem) }),
    summary: 'Get the last messages to and from a number',
  }),
  requests: endpoint({
    ...shared,
    path: '/api/dev/requests',
    data: z.object({ requests: z.array(requestLine) }),
    summary: 'List the last requests to the API',
  }),
  request: endpoint({
    ...shared,
    path: '/api/dev/requests/:id',
    params: z.object({ id: z.coerce.number().int() }),
    data: z.object({ request: wholeRequest }),
    not_found: 'Request not found',
    summary: 'Get one of the last requests with its bodies',
  }),
  reply: endpoint({
    ...shared,
    method: 'POST',
    path: '/api/dev/replies',
    needs: 'send',
    status: 201,
    body: z.object({
      channel: z.enum(['sms', 'whatsapp']),
      sender: phone,
      recipient: text(LIMITS.sender_name_length),
      text: text(LIMITS.sms_text_length),
    }),
    data: z.object({}),
    summary: 'Receive a message as if its sender had written it',
  }),
  stream: endpoint({
    ...file,
    path: '/api/dev/stream',
    summary: 'Stream the requests to the API and the mails of the service',
  }),
} as const
