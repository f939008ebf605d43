import type {
  Outcome,
  Provider,
  ProviderContext,
  SendJob,
} from '../../contract/outside/provider.ts'
import { within } from '../../runtime/within.ts'
import { mailMessage, messageIdOf } from './mail-message.ts'
import { faultOf, ofNone, outcomeOf, recipientOutcome } from './outcome.ts'
import { bounceDomain, type SmtpSettings } from './settings.ts'
import { type Failure, openTransport, type Transport } from './transport.ts'

/** The limit of one mail, first for the wait for a connection, then from the moment at which a connection begins with it. */
const SEND_MAX_MS = 18_000

/** The limit of both together; the dispatcher gives up a call after 30 s. */
const CALL_MAX_MS = 28_000

/**
 * How often a mail that waits for a connection looks for a pause, besides the moment before it begins: so the waiting mails
 * do not open one connection after another only to give it up.
 */
const LOOK_MS = 100

/** Opens e-mail through a mail server. `send_max_ms` is the limit of one call, for tests. */
export function openSmtp(
  settings: SmtpSettings,
  context: ProviderContext,
  { send_max_ms = SEND_MAX_MS }: { send_max_ms?: number } = {},
): Provider {
  const transport = openTransport(settings)
  const { intake } = settings
  const bounce_domain = bounceDomain(settings)
  return {
    name: settings.name,
    send: (jobs) =>
      Promise.all(jobs.map((job) => sendOne(job, { transport, settings, context, send_max_ms }))),
    ...(intake &&
      bounce_domain !== null && {
        async listen(sink) {
          const { listenForMail } = await import('./intake.ts')
          return listenForMail({ intake, sink, bounce_domain, secret: context.secret })
        },
      }),
    async check() {
      // The library's own timeouts restart with every byte from the server.
      const failure = await within(send_max_ms, transport.verify(), () => LATE)
      return failure && faultOf(failure)
    },
    async close() {
      transport.close()
    },
  }
}

const LATE: Failure = { code: 'EABORT', cause: null, stage: '', reply: null, is_written: false }

async function sendOne(
  job: SendJob,
  {
    transport,
    settings,
    context,
    send_max_ms,
  }: {
    transport: Transport
    settings: SmtpSettings
    context: ProviderContext
    send_max_ms: number
  },
): Promise<Outcome> {
  const mail = writeMail(job, settings, context)
  if (mail === null) return NO_ADDRESS
  if (mail === 'unwritable') return UNWRITABLE
  const late = new AbortController()
  const abort = () => late.abort()
  const until = performance.now() + CALL_MAX_MS
  let timer = setTimeout(abort, send_max_ms)
  let began: number | null = null
  let is_paused = false
  const look = () => {
    if (context.may_start?.() ?? true) return
    is_paused = true
    abort()
  }
  const looking = setInterval(look, LOOK_MS)
  const result = await transport.send(mail, late.signal, () => {
    clearInterval(looking)
    look()
    clearTimeout(timer)
    began = performance.now()
    timer = setTimeout(abort, Math.min(send_max_ms, until - began))
  })
  clearInterval(looking)
  clearTimeout(timer)
  if (is_paused) return PAUSED
  if (began !== null && !late.signal.aborted) context.note_call?.(performance.now() - began)
  const refused = job.recipients ? result.refused.map(recipientOutcome) : undefined
  if (result.type === 'failed') return refused ? ofNone(result, refused) : outcomeOf(result.failure)
  return {
    type: 'accepted',
    provider_message_id: messageIdOf(job, settings),
    lookup_after_ms: null,
    ...(refused && { recipients: refused }),
  }
}

/** No byte of the mail was written. */
const PAUSED: Outcome = {
  type: 'retry',
  error_code: 'paused',
  error_message: 'smtp: Sending is paused',
  delay_ms: null,
  not_begun: true,
}

/** Returns `unwritable` for a job that cannot be written, so that the other mails of its batch are still sent. */
function writeMail(...[job, settings, context]: Parameters<typeof mailMessage>) {
  try {
    return mailMessage(job, settings, context)
  } catch {
    return 'unwritable'
  }
}

const UNWRITABLE: Outcome = {
  type: 'rejected',
  error_code: 'invalid_content',
  error_message: 'smtp: The message cannot be written as a mail',
}

const NO_ADDRESS: Outcome = {
  type: 'rejected',
  error_code: 'invalid_recipient',
  error_message: 'smtp: The recipient is not one e-mail address',
}
