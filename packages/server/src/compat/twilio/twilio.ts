import type { IncomingHttpHeaders } from 'node:http'
import {
  type Endpoint,
  endpoint,
  formatCredits,
  idOfSid,
  isSidOf,
  LIMITS,
  type SidKind,
  sidOf,
  twilioDate,
} from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import type { Admission } from '../../admission/admission.ts'
import { type KeyCredential, keyOf } from '../../admission/authenticator.ts'
import { unknownRoute } from '../../failures.ts'
import { type Call, type Handlers, mount } from '../../routes/mount.ts'
import { callRecord, readCall } from './calls.ts'
import { answerTwilioFailure, isFault, TwilioError } from './errors.ts'
import { listCalls } from './list-calls.ts'
import { listMessages } from './list-messages.ts'
import { listNumbers } from './list-numbers.ts'
import { lookupGroup, lookupHandlers } from './lookup.ts'
import { API_VERSION, PRICE_UNIT, pathOf, receivedRecord, sentRecord } from './message-record.ts'
import { acceptParameters, Given, type Parameters, parametersOf } from './parameters.ts'
import { missing, PREFIX, reading, writing } from './routes.ts'
import { createMessageReader } from './send-message.ts'
import { verifyGroup, verifyHandlers } from './verify.ts'

const ACCOUNT = `${PREFIX}/${API_VERSION}/Accounts/:account` as const

/** A queued message can be canceled; only its content can be changed, to nothing. */
const CHANGES = new Set(['Body', 'Status'] as const)

const params = z.looseObject({ account: z.string(), sid: z.string().optional() })

/** The endpoints of the door. They have the limits, scopes and counters of the API. */
const group = {
  send: endpoint({
    ...writing,
    params,
    path: `${ACCOUNT}/Messages.json`,
    status: 201,
    idempotent: true,
    asks_hosts: true,
    body_limit: LIMITS.body_bytes,
  }),
  list: endpoint({
    ...reading,
    params,
    path: `${ACCOUNT}/Messages.json`,
    query: z.looseObject({}),
  }),
  get: endpoint({ ...reading, params, path: `${ACCOUNT}/Messages/:sid` }),
  change: endpoint({ ...writing, params, path: `${ACCOUNT}/Messages/:sid` }),
  remove: endpoint({ ...writing, params, method: 'DELETE', path: `${ACCOUNT}/Messages/:sid` }),
  media: endpoint({ ...reading, params, path: `${ACCOUNT}/Messages/:sid/Media.json` }),
  call: endpoint({
    ...writing,
    params,
    path: `${ACCOUNT}/Calls.json`,
    status: 201,
    idempotent: true,
    asks_hosts: true,
  }),
  listCalls: endpoint({
    ...reading,
    params,
    path: `${ACCOUNT}/Calls.json`,
    query: z.looseObject({}),
  }),
  getCall: endpoint({ ...reading, params, path: `${ACCOUNT}/Calls/:sid` }),
  listNumbers: endpoint({
    ...reading,
    params,
    path: `${ACCOUNT}/IncomingPhoneNumbers.json`,
    query: z.looseObject({}),
  }),
  balance: endpoint({ ...reading, params, path: `${ACCOUNT}/Balance.json` }),
  account: endpoint({ ...reading, params, path: ACCOUNT }),
} satisfies Record<string, Endpoint>

/** Serves Twilio's API for messages, calls, codes and look-ups below `/compat/twilio`, for the official packages. */
export function serveTwilio(
  app: FastifyInstance,
  admission: Admission,
  core: DecodedCore,
  { now }: { now: () => number },
): void {
  app.register(async (scope) => {
    acceptParameters(scope)
    scope.setErrorHandler(answerTwilioFailure)
    mount(scope, admission, group, handlersOf(core, now), { readKey: readBasicKey })
    mount(scope, admission, verifyGroup, verifyHandlers(core), { readKey: readBasicKey })
    mount(scope, admission, lookupGroup, lookupHandlers, { readKey: readBasicKey })
  })
  app.register(
    async (scope) => {
      scope.setErrorHandler(answerTwilioFailure)
      scope.setNotFoundHandler((request, reply) =>
        answerTwilioFailure(unknownRoute(), request, reply),
      )
    },
    { prefix: PREFIX },
  )
}

function handlersOf(core: DecodedCore, now: () => number): Handlers<typeof group> {
  const { messages, workspaces } = core
  const voice = core.carriedChannels.includes('voice')
  const readMessage = createMessageReader({ voice })
  const at = () => new Date(now())

  async function shown(call: AnyCall): Promise<object> {
    const { viewer, workspace_id } = call
    const found = await find(core, call)
    if (found.sent) return sentRecord(found.sent, at())
    return receivedRecord(workspace_id, await core.received.get(viewer, found.id))
  }

  return {
    async send(call) {
      ownAccount(call)
      const { identity, body, idempotency_key, replayed: markReplayed } = call
      const { request, ...options } = readMessage(body)
      const { message, replayed } = await messages.sendForRecord(keyOf(identity), request, {
        idempotency_key,
        ...options,
      })
      if (replayed) markReplayed()
      return sentRecord(message, at())
    },
    list(call) {
      ownAccount(call)
      return listMessages(core, call, parametersOf(call.query), at())
    },
    async get(call) {
      ownAccount(call)
      return shown(call)
    },
    async change(call) {
      ownAccount(call)
      await change(core, call)
      return shown(call)
    },
    async remove(call) {
      ownAccount(call)
      const { id } = await find(core, call)
      await finished(messages.erase(call.viewer, id, call.actor))
      call.reply.code(204)
    },
    async media(call) {
      ownAccount(call)
      const { id } = await find(core, call)
      return mediaOf(call.workspace_id, id)
    },
    async call(call) {
      ownAccount(call)
      const { workspace_id, idempotency_key } = call
      const key = readBasicKey(call.reply.request.headers)?.key ?? ''
      const parts = { voice, files: core.files, workspace_id, key }
      const { request, ...options } = await readCall(call.body, parts)
      const { message, replayed } = await messages.sendForRecord(keyOf(call.identity), request, {
        idempotency_key,
        ...options,
      })
      if (replayed) call.replayed()
      return callRecord(message)
    },
    listCalls(call) {
      ownAccount(call)
      return listCalls(core, call, parametersOf(call.query))
    },
    async getCall(call) {
      ownAccount(call)
      const message = await messages.get(call.viewer, idOf(call, 'call'))
      if (message.channel !== 'voice' || message.erased_at) throw missing(call)
      return callRecord(message)
    },
    listNumbers(call) {
      ownAccount(call)
      return listNumbers(core, call.workspace_id, parametersOf(call.query))
    },
    async balance(call) {
      ownAccount(call)
      const { credits_balance } = await workspaces.account(call.workspace_id)
      const account_sid = sidOf('account', call.workspace_id)
      return { account_sid, balance: formatCredits(credits_balance), currency: PRICE_UNIT }
    },
    async account(call) {
      ownAccount(call)
      return accountRecord(await workspaces.account(call.workspace_id))
    },
  }
}

type AnyCall = Pick<Call<Endpoint>, 'viewer' | 'workspace_id' | 'reply'> & {
  params: { account: string; sid?: string | undefined }
}

/** Refuses an account SID in the path that is not the account of the key. */
function ownAccount(call: AnyCall): void {
  const sid = withoutEnd(call.params.account)
  if (!isSidOf('account', sid, call.workspace_id)) throw missing(call)
}

function withoutEnd(name: string): string {
  return name.endsWith('.json') ? name.slice(0, -'.json'.length) : name
}

function idOf(call: AnyCall, kind: SidKind): string {
  const id = idOfSid(kind, withoutEnd(call.params.sid ?? ''))
  if (id === null) throw missing(call)
  return id
}

/** The message of the path, sent or received. Erased messages and messages of other channels do not exist for Twilio. */
async function find({ messages, received }: DecodedCore, call: AnyCall) {
  const id = idOf(call, 'message')
  const { viewer } = call
  const sent = await unlessMissing(messages.get(viewer, id))
  if (sent && (sent.erased_at || !['sms', 'whatsapp'].includes(sent.channel))) throw missing(call)
  if (!sent && !(await unlessMissing(received.get(viewer, id)))) throw missing(call)
  return { sent, id }
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found
  } catch (error) {
    if ((error as { code?: unknown }).code === 'not_found') return null
    throw error
  }
}

/** Twilio cancels with `Status=canceled`, and removes the text with an empty `Body`. */
async function change(
  core: DecodedCore,
  call: AnyCall & { body: Parameters; actor: Call<Endpoint>['actor'] },
) {
  const given = new Given(call.body ?? {}, CHANGES)
  const status = given.one('Status')
  const body = given.one('Body')
  const { sent, id } = await find(core, call)
  if (status !== undefined) {
    if (status !== 'canceled')
      throw new TwilioError('invalid_parameter', "'Status' must be canceled")
    if (!sent) throw new TwilioError('not_cancelable', 'A received message cannot be canceled', 409)
    await core.messages.cancel(call.viewer, id).catch((error: unknown) => {
      throw isFault(error) ? new TwilioError('not_cancelable', error.message, 409) : error
    })
  }
  if (body === undefined) {
    if (status === undefined)
      throw new TwilioError('invalid_parameter', "'Body' or 'Status' is required")
    return
  }
  if (body !== '') {
    throw new TwilioError('invalid_parameter', "'Body' must be empty, which removes the text")
  }
  await finished(core.messages.redact(call.viewer, id, call.actor))
}

/** The work on a message that must have ended. @throws TwilioError 409 if it has not. */
async function finished(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    throw isFault(error) ? new TwilioError('incomplete', error.message, 409) : error
  }
}

/** The list of a message's files. Files have no SID here, so the list is empty; `num_media` is their number. */
function mediaOf(workspace_id: string, id: string): object {
  const uri = `${pathOf(workspace_id, `/Messages/${sidOf('message', id)}/Media`)}?PageSize=50&Page=0`
  return {
    media_list: [],
    page: 0,
    page_size: 50,
    start: 0,
    end: 0,
    uri,
    first_page_uri: uri,
    previous_page_uri: null,
    next_page_uri: null,
  }
}

function accountRecord({
  id,
  name,
  created_at,
}: {
  id: string
  name: string
  created_at: Date
}): object {
  const sid = sidOf('account', id)
  const date = twilioDate(created_at)
  return {
    sid,
    owner_account_sid: sid,
    friendly_name: name,
    status: 'active',
    type: 'Full',
    date_created: date,
    date_updated: date,
    uri: pathOf(id),
    subresource_uris: { messages: pathOf(id, '/Messages'), balance: pathOf(id, '/Balance') },
  }
}

/** More than any user name and key of the service. */
const LENGTH_MAX = 1024

/**
 * Reads Basic credentials: the user is the account SID, or the SID of the key; the password is an API key. Null without
 * them. A text that is not such a pair is a wrong key.
 */
function readBasicKey({ authorization }: IncomingHttpHeaders): KeyCredential | null {
  if (authorization === undefined) return null
  const [, encoded = ''] = /^basic +([\w+/-]+=*) *$/i.exec(authorization.slice(0, LENGTH_MAX)) ?? []
  const pair = Buffer.from(encoded, 'base64').toString('latin1')
  const colon = pair.indexOf(':')
  const user = colon === -1 ? '' : pair.slice(0, colon)
  const key = colon === -1 ? '' : pair.slice(colon + 1)
  return {
    kind: 'api_key',
    key,
    belongsTo: ({ workspace_id, api_key_id }) =>
      isSidOf('account', user, workspace_id) || isSidOf('api_key', user, api_key_id),
  }
}
