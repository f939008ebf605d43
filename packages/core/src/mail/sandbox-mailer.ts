import type { Mail, Mailer } from '../contract/outside/mail.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** A mail that reached nobody. */
export interface KeptMail extends Mail {
  /** Counted from 1. */
  id: number
  at: Date
}

/** A mailer that sends nothing: what it is given can be looked at here. */
export interface SandboxMailer extends Mailer {
  /** The last 100, newest first. */
  list(): KeptMail[]
  /** Hears of each mail from now on. Answers how to stop hearing. */
  onMail(listener: (mail: KeptMail) => void): () => void
}

const KEPT_MAX = 100

/** Keeps mails in memory, for as long as the process lives. */
export function createSandboxMailer({ now, log }: Pick<Runtime, 'now' | 'log'>): SandboxMailer {
  let kept: KeptMail[] = []
  let count = 0
  const listeners = new Set<(mail: KeptMail) => void>()

  function tell(listener: (mail: KeptMail) => void, mail: KeptMail): void {
    try {
      listener(mail)
    } catch (error) {
      // The mail is kept all the same: sent again it would be there twice.
      log.warn({ err: error }, 'whoever listens for mails failed')
    }
  }

  return {
    async send(mail) {
      count += 1
      const one = { ...mail, id: count, at: now() }
      kept = [one, ...kept.slice(0, KEPT_MAX - 1)]
      for (const listener of listeners) tell(listener, one)
    },
    list: () => [...kept],
    onMail(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
