import type { Mail, Mailer } from '../contract/outside/mail.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** A mail that was kept and not sent. */
export interface KeptMail extends Mail {
  /** The number of the mail, counted from 1. */
  id: number
  at: Date
}

/** A mailer that keeps mails and sends none. */
export interface SandboxMailer extends Mailer {
  /** Returns the last 100 mails, newest first. */
  list(): KeptMail[]
  /** Calls the listener with each new mail. Returns a function that ends these calls. */
  onMail(listener: (mail: KeptMail) => void): () => void
}

const KEPT_MAX = 100

/** Keeps mails in memory until the process ends. */
export function createSandboxMailer({ now, log }: Pick<Runtime, 'now' | 'log'>): SandboxMailer {
  let kept: KeptMail[] = []
  let count = 0
  const listeners = new Set<(mail: KeptMail) => void>()

  function notify(listener: (mail: KeptMail) => void, mail: KeptMail): void {
    try {
      listener(mail)
    } catch (error) {
      // The error is not thrown: the outbox would send the mail again, and the mail would be kept twice.
      log.warn({ err: error }, 'a listener for mails failed')
    }
  }

  return {
    async send(mail) {
      count += 1
      const one = { ...mail, id: count, at: now() }
      kept = [one, ...kept.slice(0, KEPT_MAX - 1)]
      for (const listener of listeners) notify(listener, one)
    },
    list: () => [...kept],
    onMail(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
