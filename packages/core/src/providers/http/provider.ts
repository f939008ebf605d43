import type {
  LookupJob,
  Outcome,
  Provider,
  ProviderContext,
  SendJob,
} from '../../contract/outside/provider.ts'
import type { HttpCall } from '../../http/client.ts'
import { createProviderClient } from '../http-client.ts'
import { readCallback } from './callback.ts'
import { callbackUrlOf } from './callback-auth.ts'
import { secretsOf } from './echo.ts'
import { canLookUp, resultOf } from './lookup.ts'
import { outcomeOf } from './outcome.ts'
import { requestOf } from './request.ts'
import { type HttpSettings, placeholdersIn } from './settings.ts'
import { carries, valuesOf } from './values.ts'

const CONNECT_MS = 5_000

const UNSUPPORTED: Outcome = {
  type: 'rejected',
  error_code: 'unsupported_content',
  error_message: 'The provider is not set up for this kind of content',
}

/** Opens a gateway that the settings describe. Each message is one request. */
export function httpProvider(
  settings: HttpSettings,
  context: ProviderContext,
  { now = () => new Date() }: { now?: () => Date } = {},
): Provider {
  const { send, callback, lookup } = settings
  const deadline_ms = settings.deadline_s * 1_000
  const client = createProviderClient({
    connect_ms: Math.min(CONNECT_MS, deadline_ms),
    deadline_ms,
    connections: settings.connections,
    may_start: context.may_start,
    on_call: context.note_call,
  })
  const secrets = [context.secret, ...secretsOf(settings)]
  const placeholders = placeholdersIn(send)

  async function sendOne(job: SendJob): Promise<Outcome> {
    if (!carries(placeholders, job.content)) return UNSUPPORTED
    const answer = await client.call(sendCall(job))
    return outcomeOf(answer, job, { settings, secrets, now_ms: now().getTime() })
  }

  function sendCall(job: SendJob): HttpCall {
    const call = requestOf(
      send,
      settings.auth,
      valuesOf(job, callbackUrlOf(job, context, callback)),
    )
    if (!settings.idempotent) return call
    return { ...call, headers: { ...call.headers, 'idempotency-key': job.message_id } }
  }

  return {
    name: settings.name,
    send: (jobs) => Promise.all(jobs.map(sendOne)),
    ...(lookup && {
      lookup: (jobs: readonly LookupJob[]) =>
        Promise.all(
          jobs.map(async (job) => {
            if (!canLookUp(lookup, job)) return { type: 'unavailable' } as const
            const values = valuesOf(job, callbackUrlOf(job, context, callback))
            return resultOf(
              await client.call(requestOf(lookup.request, settings.auth, values)),
              lookup,
              { content: job.content, secrets },
            )
          }),
        ),
    }),
    ...(callback && {
      readCallback: (request) =>
        readCallback(request, { ...settings, callback }, { ...context, secrets }),
    }),
    close: client.close,
  }
}
