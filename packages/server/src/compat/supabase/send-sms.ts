import {
  type Endpoint,
  endpoint,
  externalCode,
  invalid,
  SvcError,
  verify,
} from '@svc/core/contract'
import { type DecodedCore, requireScope } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Admission } from '../../admission/admission.ts'
import { keyOf } from '../../admission/authenticator.ts'
import { answerFailureAs } from '../../failures.ts'
import { type Call, type Handlers, mount } from '../../routes/mount.ts'

const PATH = '/compat/supabase/send-sms'
const SCOPE = 'send_messages'

const shared = {
  rate: 'general',
  status: 200,
  enveloped: false,
  data: z.unknown(),
  write_data: (data: never) => JSON.stringify(data),
  summary: '',
} as const

const group = {
  settings: endpoint({ ...shared, method: 'GET', path: PATH, auth: 'api_key', scope: SCOPE }),
  send: endpoint({
    ...shared,
    method: 'POST',
    path: `${PATH}/:workspace/:key`,
    auth: 'none',
    // Counted for the key once the signature is known to be right.
    rate: 'exempt',
    signed_by: 'webhook-signature',
    params: z.object({ workspace: z.string(), key: z.string() }),
  }),
} satisfies Record<string, Endpoint>

/**
 * Serves the receiver of Supabase's Send SMS hook. Supabase makes and checks the code, and signs each request as Standard
 * Webhooks say. The secret is derived from the id of an API key, so that nothing is stored and the hook ends with the key.
 */
export function serveSupabase(
  app: FastifyInstance,
  admission: Admission,
  core: DecodedCore,
  { now, public_url }: { now: () => number; public_url: () => string },
): void {
  app.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) =>
      answerFailureAs(failureText, error, request, reply),
    )
    mount(scope, admission, group, handlersOf(core, { now, public_url }))
  })
}

function handlersOf(
  core: DecodedCore,
  { now, public_url }: { now: () => number; public_url: () => string },
): Handlers<typeof group> {
  const { apiKeys, verifications } = core
  return {
    async settings({ identity }) {
      const key = keyOf(identity)
      const uri = `${public_url()}${PATH}/${key.workspace_id}/${key.api_key_id}`
      return { enabled: true, uri, secrets: `v1,${await verifications.hookSecret(key)}` }
    },
    async send(call) {
      const { workspace: workspace_id, key: api_key_id } = call.params
      const secret = await verifications.hookSecret({ workspace_id, api_key_id })
      if (!isSigned(call, secret, new Date(now()))) {
        await call.countBadSignature()
        throw new SvcError('unauthorized', 'The signature does not match')
      }
      const { request } = call.reply
      const key = await apiKeys.identify(workspace_id, api_key_id, request.ip)
      requireScope(key, SCOPE)
      request.svcIdentity = { kind: 'api_key', ...key }
      await call.countMore()
      await verifications.deliver(key, readCode(call.signed.body))
      return {}
    },
  }
}

/** Whether the secret signed the request a short time ago. Supabase separates several signatures by a comma and a space. */
function isSigned({ signed, reply }: SendCall, secret: string, now: Date): boolean {
  const { headers } = reply.request
  const result = verify({
    secret,
    now,
    body: signed.body,
    headers: {
      'webhook-id': headers['webhook-id'],
      'webhook-timestamp': headers['webhook-timestamp'],
      'webhook-signature': signed.signature?.replaceAll(', ', ' '),
    },
  })
  return result.ok
}

type SendCall = Pick<Call<typeof group.send>, 'signed' | 'reply'>

/** `sms.phone` is the number that gets the code: a new number, or that of a second factor. Older versions have only the user's. */
const hook = z.object({
  user: z.object({ phone: z.string().nullish() }),
  sms: z.object({ otp: z.string(), phone: z.string().nullish() }),
})

function readCode(body: Uint8Array): z.output<typeof externalCode> {
  const given = hook.safeParse(parsed(body))
  const phone = given.data?.sms.phone || given.data?.user.phone
  if (!given.success || !phone) {
    throw invalid('', 'The body must have sms.phone or user.phone, and sms.otp')
  }
  const { sms } = given.data
  // Supabase stores numbers without the plus sign.
  const to = phone.startsWith('+') ? phone : `+${phone}`
  const code = externalCode.safeParse({ to, code: sms.otp })
  // The text must not quote the code.
  if (!code.success) throw invalid('', 'The phone must be a number, and sms.otp 4 to 10 digits')
  return code.data
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    return null
  }
}

/** Supabase passes an error on to the application only from an answer with the status 200. */
function failureText(
  { status, message }: SvcError,
  { method, svcIdentity }: FastifyRequest,
  reply: FastifyReply,
): string {
  if (method === 'POST' && svcIdentity && status < 500) reply.code(200)
  return JSON.stringify({ error: { http_code: status, message } })
}
