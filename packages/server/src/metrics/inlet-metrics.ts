import type { Registry } from 'prom-client'
import type { MailOutcome } from '../compat/smtp/commands.ts'
import type { Inlet } from '../compat/smtp/inlet.ts'
import { counter, register } from './series.ts'

/** The metrics of the SMTP inlet. */
export interface InletMetrics {
  /** Counts a mail by its outcome. */
  onMail: (outcome: MailOutcome) => void
  /** Shows the open connections of the inlet. */
  watchInlet(inlet: Pick<Inlet, 'connections'>): void
}

export function inletMetrics(registry: Registry): InletMetrics {
  const mails = counter(
    registry,
    {
      name: 'svc_smtp_mails_total',
      help: 'Mails of clients of the SMTP inlet: accepted, refused for good, or deferred with a request to repeat them.',
      labels: ['outcome'],
    },
    [['accepted'], ['refused'], ['deferred']],
  )
  let connections = () => 0
  const name = 'svc_smtp_connections'
  const help = 'Open connections of clients of the SMTP inlet.'
  register(registry, { name, help, type: 'gauge' }, () => [{ labels: {}, value: connections() }])
  return {
    onMail: (outcome) => {
      mails(outcome).value += 1
    },
    watchInlet(inlet) {
      connections = () => inlet.connections()
    },
  }
}
