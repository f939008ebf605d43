import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { failureOf } from '../../failures.ts'
import type { Mails } from './mails.ts'
import { type Refusal, refusalOf } from './reply.ts'
import type { Visit } from './visit.ts'

/** What happened to a mail: accepted, refused for good, or to be repeated later. */
export type MailOutcome = 'accepted' | 'refused' | 'deferred'

export type Commands = ReturnType<typeof createCommands>

type Done = (error?: Error | null) => void

/** Answers the commands of all ports. An error becomes the reply; a fault of the service is logged. */
export function createCommands({
  visitOf,
  mails,
  onMail,
  noteFailure,
}: {
  visitOf: (session: SMTPServerSession) => Visit
  mails: Mails
  onMail: (outcome: MailOutcome) => void
  noteFailure: (error: unknown) => void
}) {
  /** The ids of the sessions whose mail is being received or stored. */
  const busy = new Set<string>()
  let onIdle: (() => void) | null = null

  function replyFor(error: unknown): Refusal {
    if (isRefusal(error)) return error
    const failure = failureOf(error)
    if (failure.status === 500) noteFailure(error)
    return refusalOf(failure)
  }

  function answer(work: Promise<void>, done: Done): void {
    work.then(
      () => done(),
      (error) => done(replyFor(error)),
    )
  }

  async function take(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
    const { envelope, identity, owner } = visitOf(session)
    const mail = await mails.receive(stream, owner())
    try {
      return await mails.send(mail, envelope.recipients(session.envelope.rcptTo), await identity())
    } finally {
      mail.release()
    }
  }

  return {
    isBusy: ({ id }: SMTPServerSession) => busy.has(id),
    /** `call` runs whenever a mail ended, from now on. */
    onIdle(call: () => void) {
      onIdle = call
    },
    onAuth(
      { password }: { password?: string | null | undefined },
      session: SMTPServerSession,
      done: (error: Error | null, response?: { user: string }) => void,
    ) {
      answer(visitOf(session).logIn(password ?? ''), (error) =>
        error ? done(error) : done(null, { user: 'key' }),
      )
    },
    onMailFrom(_: unknown, session: SMTPServerSession, done: Done) {
      answer(visitOf(session).beginMail(), done)
    },
    onRcptTo({ address }: { address: string }, session: SMTPServerSession, done: Done) {
      try {
        visitOf(session).envelope.add(address)
        done()
      } catch (error) {
        done(replyFor(error))
      }
    },
    onData(
      stream: SMTPServerDataStream,
      session: SMTPServerSession,
      done: (error?: Error | null, text?: string) => void,
    ) {
      busy.add(session.id)
      take(stream, session)
        .then(
          (id) => {
            onMail('accepted')
            done(null, `Queued as ${id}`)
          },
          (error) => {
            const reply = replyFor(error)
            onMail(String(reply.responseCode).startsWith('5') ? 'refused' : 'deferred')
            done(reply)
          },
        )
        .finally(() => {
          busy.delete(session.id)
          // After the reply to the mail is written.
          if (onIdle) setImmediate(onIdle)
        })
    },
  }
}

function isRefusal(error: unknown): error is Refusal {
  return error instanceof Error && 'responseCode' in error
}
