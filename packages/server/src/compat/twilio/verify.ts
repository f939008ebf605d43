import {
  api,
  type CodeVerification,
  decode,
  type Endpoint,
  endpoint,
  idOfSid,
  LIMITS,
  readTwilioAddress,
  sidOf,
} from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import { keyOf } from '../../admission/authenticator.ts'
import type { Call, Handlers } from '../../routes/mount.ts'
import { asVerifyError, isFault, TwilioError } from './errors.ts'
import { Given, type Parameters } from './parameters.ts'
import { missing, PREFIX, reading, writing } from './routes.ts'

const SERVICE = `${PREFIX}/v2/Services/:service` as const
const params = z.looseObject({ service: z.string(), sid: z.string().optional() })

/** The endpoints of Twilio Verify, version 2. */
export const verifyGroup = {
  start: endpoint({
    ...writing,
    params,
    path: `${SERVICE}/Verifications`,
    status: 201,
    idempotent: true,
    body_limit: LIMITS.body_bytes,
  }),
  get: endpoint({ ...reading, params, path: `${SERVICE}/Verifications/:sid` }),
  change: endpoint({ ...writing, params, path: `${SERVICE}/Verifications/:sid` }),
  check: endpoint({ ...writing, params, path: `${SERVICE}/VerificationCheck`, status: 201 }),
} satisfies Record<string, Endpoint>

const START = new Set([
  'To',
  'Channel',
  'Locale',
  'AppHash',
  'TemplateSid',
  'TemplateCustomSubstitutions',
  'DeviceIp',
  'RiskCheck',
] as const)
const CHECK = new Set(['To', 'VerificationSid', 'Code'] as const)
const CHANGE = new Set(['Status'] as const)

const STATUSES = {
  pending: 'pending',
  approved: 'approved',
  canceled: 'canceled',
  expired: 'expired',
  max_attempts: 'max_attempts_reached',
  external: 'canceled',
} as const satisfies Record<CodeVerification['status'], string>

export function verifyHandlers({ verifications }: DecodedCore): Handlers<typeof verifyGroup> {
  return {
    start: (call) =>
      answered(call, async () => {
        const { viewer, idempotency_key } = call
        const request = decode(api.verifications.start.body, readStart(call.body ?? {}))
        const { data, replayed } = await verifications.start(keyOf(call.identity), request, {
          idempotency_key,
        })
        if (replayed && idempotency_key !== undefined) call.replayed()
        return verifications.get(viewer, data.verification_id)
      }),
    get: (call) => answered(call, () => verifications.get(call.viewer, idOf(call))),
    change: (call) =>
      answered(call, async () => {
        const status = new Given(call.body ?? {}, CHANGE).one('Status')
        if (status !== 'canceled' && status !== 'approved') {
          throw new TwilioError('invalid_parameter', "'Status' must be canceled or approved")
        }
        const change = status === 'canceled' ? verifications.cancel : verifications.approve
        try {
          return await change(call.viewer, idOf(call))
        } catch (error) {
          throw isFault(error) ? missing(call) : error
        }
      }),
    check: (call) =>
      answered(call, async () => {
        const { id, status } = await checked(verifications, call)
        if (status === 'max_attempts') {
          throw new TwilioError('too_many_checks', 'Max check attempts reached', 429)
        }
        if (status !== 'approved' && status !== 'pending') throw missing(call)
        return verifications.get(call.viewer, id)
      }),
  }
}

type VerifyCall = Pick<Call<Endpoint>, 'viewer' | 'workspace_id' | 'reply'> & {
  params: { service: string; sid?: string | undefined }
}

/** The verification in Twilio's form, or Verify's error. */
async function answered(call: VerifyCall, work: () => Promise<CodeVerification>): Promise<object> {
  // A workspace has no services: each SID of one stands for the workspace of the key.
  if (!/^VA[0-9a-f]{32}$/i.test(call.params.service)) throw missing(call)
  try {
    return verificationRecord(await work(), call)
  } catch (error) {
    if ((error as { code?: unknown }).code === 'not_found') throw missing(call)
    throw asVerifyError(error)
  }
}

function idOf(call: VerifyCall): string {
  const id = idOfSid('verification', call.params.sid ?? '')
  if (id === null) throw missing(call)
  return id
}

function readStart(parameters: Parameters): object {
  const given = new Given(parameters, START, { EnableSnaClientToken: 'false' })
  const channel = given.filled('Channel')
  const to = given.filled('To')
  return {
    to: to === undefined ? undefined : readTwilioAddress(to).address,
    channel: channel === 'call' ? 'voice' : channel,
    locale: given.filled('Locale'),
    app_hash: given.filled('AppHash'),
    template: templateOf(given, channel),
    client_ip: given.filled('DeviceIp'),
  }
}

/** A stored template by its name, or for WhatsApp the template that the provider approved. */
function templateOf(
  given: Given<typeof START extends Set<infer Name> ? Name : never>,
  channel: string | undefined,
): string | object | undefined {
  const sid = given.filled('TemplateSid')
  const values = given.filled('TemplateCustomSubstitutions')
  if (sid === undefined || channel === 'whatsapp') {
    if (values === undefined) return sid
    const text = "'TemplateCustomSubstitutions' needs 'TemplateSid', and is not for whatsapp"
    throw new TwilioError('invalid_parameter', text)
  }
  if (values === undefined) return { name: sid }
  try {
    return { name: sid, variables: JSON.parse(values) as unknown }
  } catch {
    const text = "'TemplateCustomSubstitutions' must be JSON, an object of texts"
    throw new TwilioError('invalid_parameter', text)
  }
}

async function checked(
  verifications: DecodedCore['verifications'],
  call: VerifyCall & { identity: Call<Endpoint>['identity']; body: Parameters },
): Promise<{ id: string; status: CodeVerification['status'] }> {
  const given = new Given(call.body ?? {}, CHECK)
  const sid = given.filled('VerificationSid')
  const to = given.filled('To')
  const code = given.filled('Code')
  if ((sid === undefined) === (to === undefined)) {
    throw new TwilioError('invalid_parameter', "Give one of 'To' and 'VerificationSid'")
  }
  if (to !== undefined) {
    const given = { to: readTwilioAddress(to).address, code }
    const request = decode(api.verifications.check_address.body, given)
    const { verification_id: id, status } = await verifications.checkAddress(
      keyOf(call.identity),
      request,
    )
    return { id, status }
  }
  const request = decode(api.verifications.check.body, { code })
  const id = idOfSid('verification', sid ?? '')
  if (id === null) throw missing(call)
  const { status } = await verifications.check(keyOf(call.identity), id, request)
  return { id, status }
}

function verificationRecord(
  { id, to, channel, status, message_id, created_at, ended_at }: CodeVerification,
  { workspace_id, params }: VerifyCall,
): object {
  const named = channel === 'voice' ? 'call' : channel
  const date_created = twilioTime(created_at)
  const sid = sidOf('verification', id)
  const attempt_sid = sidOf('verification_message', message_id)
  return {
    sid,
    service_sid: params.service,
    account_sid: sidOf('account', workspace_id),
    to,
    channel: named,
    status: STATUSES[status],
    valid: status === 'approved',
    lookup: {},
    amount: null,
    payee: null,
    send_code_attempts: [{ attempt_sid, channel: named, time: null }],
    sna: null,
    date_created,
    date_updated: ended_at === null ? date_created : twilioTime(ended_at),
    url: `/v2/Services/${params.service}/Verifications/${sid}`,
  }
}

/** Verify's form of an instant: ISO 8601 in whole seconds. */
function twilioTime(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`
}
