import { createHmac } from 'node:crypto'
import {
  DEADLINES_MS,
  type Fate,
  type ProviderBench,
  type ProviderHarness,
} from '@svc/testkit/provider'
import type {
  LookupJob,
  Provider,
  ProviderContext,
  SendJob,
} from '../../../src/contract/outside/provider.ts'
import { callbackUrlOf } from '../../../src/providers/http/callback.ts'
import { httpProvider } from '../../../src/providers/http/provider.ts'
import { settings } from '../../../src/providers/http/settings.ts'
import { httpType } from '../../../src/providers/http/type.ts'
import {
  accepting,
  answer,
  type HttpPeer,
  type HttpPlay,
  idOf,
  NO_ANSWER,
  openHttpPeer,
  type PeerRequest,
  taken,
} from '../http-peer.ts'

export const CONTEXT: ProviderContext = {
  public_url: 'https://svc.test',
  callback_url: 'https://svc.test/callbacks/gateway',
  secret: 'canary-context-secret',
}

const TOKEN = 'canary-api-token'
const HMAC_SECRET = 'canary-hmac-secret'

/** Settings for a gateway at `url` with JSON, an idempotency key, look-ups and signed callbacks. */
export function jsonSettings(url: string, deadline_ms: number = DEADLINES_MS.patient) {
  return {
    type: 'http',
    name: 'gateway',
    channels: ['sms', 'whatsapp', 'email'],
    senders: { sms: ['+15005550100'] },
    idempotent: true,
    deadline_s: deadline_ms / 1_000,
    auth: { type: 'bearer', token: TOKEN },
    send: {
      url: `${url}/messages`,
      body: {
        to: '{{to}}',
        from: '{{from}}',
        text: '{{text}}',
        subject: '{{subject}}',
        ref: '{{reference}}',
        callback: '{{callback_url}}',
      },
    },
    answer: { id: '/id', error_code: '/error/code', error_message: '/error/message' },
    callback: {
      auth: { type: 'hmac', header: 'X-Signature', secret: HMAC_SECRET, prefix: 'sha256=' },
      receipts: {
        reference: '/ref',
        provider_message_id: '/id',
        status: '/state',
        statuses: { DONE: 'delivered', FAILED: 'failed' },
        error_code: '/code',
        error_message: '/reason',
      },
      inbound: { id: '/id', from: '/from', to: '/to', text: '/text' },
    },
    lookup: {
      request: { method: 'GET', url: `${url}/messages`, query: { ref: '{{reference}}' } },
      answer: { id: '/id', status: '/state', statuses: { DONE: 'delivered', ON_ITS_WAY: 'sent' } },
    },
  }
}

/** Settings for an older gateway: everything in the query of a GET, no key, no signature. */
export function querySettings(url: string, deadline_ms: number = DEADLINES_MS.patient) {
  return {
    type: 'http',
    name: 'gateway',
    channels: ['sms'],
    deadline_s: deadline_ms / 1_000,
    auth: { type: 'parameters', parameters: { username: 'svc', password: TOKEN } },
    send: {
      method: 'GET',
      url: `${url}/messages`,
      query: { to: '{{to_digits}}', text: '{{text}}', dlr: '{{callback_url}}&status=%d' },
    },
    answer: { id: '/id' },
    callback: {
      receipts: { status: '?status', statuses: { 1: 'delivered', 2: 'failed' } },
    },
  }
}

const PLAYS: Record<Fate, HttpPlay> = {
  accept: taken,
  reject: answer(400, { error: { code: 'E_TO', message: 'No such number' } }),
  throttle: answer(429, {}, { 'retry-after': '7' }),
  unavailable: answer(425, { error: { code: 'E_BUSY', message: 'Busy' } }),
  hang_after_read: accepting(NO_ANSWER.hang),
  drop_after_read: accepting(NO_ANSWER.reset),
}

const FATES = Object.keys(PLAYS) as Fate[]

/** The fields of a request in JSON or a query. */
function fieldsOf({ method, path, body }: PeerRequest): Record<string, string | undefined> {
  if (method !== 'GET') return JSON.parse(body)
  return Object.fromEntries(new URL(path, 'http://peer').searchParams)
}

function recipientOf(request: PeerRequest): string {
  return `+${(fieldsOf(request).to ?? '').replace('+', '')}`
}

async function openGateway(make: (url: string) => object) {
  const peer = await openHttpPeer()
  const fates = new Map<string, Fate>()
  let credentials_are_valid = true
  peer.otherwise((request, socket) => {
    if (!credentials_are_valid) return answer(401)(request, socket)
    const { ref, to } = fieldsOf(request)
    const play =
      to === undefined ? lookupPlay(peer, ref) : PLAYS[fates.get(recipientOf(request)) ?? 'accept']
    play(request, socket)
  })
  const provider = httpProvider(settings.parse(make(peer.url)), CONTEXT)
  return {
    provider,
    peer,
    fates,
    rejectCredentials: () => {
      credentials_are_valid = false
    },
  }
}

function lookupPlay(peer: HttpPeer, ref: string | undefined): HttpPlay {
  const had = peer.requests.find((each) => each.accepted && fieldsOf(each).ref === ref)
  return had ? answer(200, { id: idOf(had), state: 'DONE' }) : answer(404)
}

async function openBench(
  make: (url: string) => object,
  identityOf: (request: PeerRequest) => string | null,
  callbacks: ProviderBench['callbacks'],
): Promise<ProviderBench> {
  const { provider, peer, fates, rejectCredentials } = await openGateway(make)
  return {
    provider,
    secrets: [TOKEN, HMAC_SECRET, CONTEXT.secret],
    recipient(fate) {
      const recipient = `+1555${String(1_000_000 + fates.size)}`
      fates.set(recipient, fate)
      return recipient
    },
    peer: {
      seen: () =>
        peer.requests
          .filter((request) => fieldsOf(request).to !== undefined)
          .map((request) => ({
            recipient: recipientOf(request),
            accepted: request.accepted,
            identity: identityOf(request),
            provider_message_id: idOf(request),
          })),
      connections: peer.connections,
      turn: async (refusal) =>
        refusal === 'refuse_connection' ? peer.refuse() : rejectCredentials(),
    },
    callbacks,
    async close() {
      await provider.close?.()
      await peer.close()
    },
  }
}

const SIGNED: ProviderBench['callbacks'] = {
  of: ({ workspace_id, message_id, provider_message_id }, status) =>
    signedJson({
      ref: `${workspace_id}.${message_id}`,
      id: provider_message_id,
      state: status === 'delivered' ? 'DONE' : 'FAILED',
    }),
  signed: (body) => signedCallback(body),
}

/** A callback of the JSON gateway. */
export function signedJson(body: unknown, query = '') {
  return signedCallback(new TextEncoder().encode(JSON.stringify(body)), query)
}

function signedCallback(body: Uint8Array, query = '') {
  const hash = createHmac('sha256', HMAC_SECRET).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-signature': `sha256=${hash}` }
  return { method: 'POST' as const, url: `${CONTEXT.callback_url}${query}`, headers, body }
}

const ADDRESSED: ProviderBench['callbacks'] = {
  of: (about, status) => ({
    method: 'GET',
    url: `${callbackUrlOf(about, CONTEXT, undefined)}&status=${status === 'delivered' ? 1 : 2}`,
    headers: {},
    body: new Uint8Array(),
  }),
  signed: (body) => ({
    method: 'POST',
    url: callbackUrlOf({ workspace_id: 'w1', message_id: 'm1' }, CONTEXT, undefined),
    headers: {},
    body,
  }),
}

const REFUSALS = ['refuse_connection', 'bad_credentials'] as const

/** The gateway with JSON, for the contract suite. */
export const jsonHarness: ProviderHarness = {
  channel: 'sms',
  traits: httpType.traits(settings.parse(jsonSettings('http://127.0.0.1'))),
  fates: FATES,
  refusals: REFUSALS,
  identifies: true,
  callbacks: { signs_body: true },
  open: (deadline_ms) =>
    openBench(
      (url) => jsonSettings(url, deadline_ms),
      ({ headers }) => headers['idempotency-key'] ?? null,
      SIGNED,
    ),
}

/** The gateway with queries, for the contract suite. */
export const queryHarness: ProviderHarness = {
  ...jsonHarness,
  traits: httpType.traits(settings.parse(querySettings('http://127.0.0.1'))),
  callbacks: { signs_body: false },
  open: (deadline_ms) =>
    openBench(
      (url) => querySettings(url, deadline_ms),
      (request) => new URL(fieldsOf(request).dlr ?? '').searchParams.get('m'),
      ADDRESSED,
    ),
}

/** A provider with these settings and its scripted peer. */
export async function openHttp(
  make: (url: string) => object,
  now?: () => Date,
): Promise<{ provider: Provider; peer: HttpPeer; close(): Promise<void> }> {
  const peer = await openHttpPeer()
  const provider = httpProvider(settings.parse(make(peer.url)), CONTEXT, now && { now })
  return {
    provider,
    peer,
    async close() {
      await provider.close?.()
      await peer.close()
    },
  }
}

/** A job to send or to look up. */
export function httpJob(more: Partial<LookupJob> = {}): SendJob & LookupJob {
  return {
    workspace_id: '11111111-1111-4111-8111-111111111111',
    message_id: '22222222-2222-4222-8222-222222222222',
    channel: 'sms',
    sender: '+15005550100',
    recipient: '+15551234567',
    content: { text: 'Grüße & "mehr" {{to}} $&' },
    attempt: 1,
    created_at_ms: 0,
    max_duration_s: null,
    provider_message_id: null,
    attempted_at_ms: 0,
    now_ms: 0,
    ...more,
  }
}
