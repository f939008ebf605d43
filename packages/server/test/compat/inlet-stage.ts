import { decodedOf } from '@svc/core/operate'
import { createTransport } from 'nodemailer'
import type { ServedApi } from '../../src/api.ts'
import { type Inlet, type InletSettings, openInlet } from '../../src/compat/smtp/inlet.ts'
import type { InletLimits } from '../../src/compat/smtp/limits.ts'
import { openWorld, type WorldOptions } from '../world.ts'

export interface InletStageOptions extends WorldOptions {
  settings?: Partial<InletSettings>
  limits?: Partial<InletLimits>
  certificate_check_ms?: number
}

/** The service with an SMTP inlet on this machine. */
export async function openInletStage(options: InletStageOptions = {}) {
  let served: ServedApi | undefined
  const world = await openWorld({
    ...options,
    onServed: (parts) => {
      served = parts
    },
  })
  if (!served) throw new Error('the API is not served')
  const outcomes: string[] = []
  const inlet: Inlet = await openInlet({
    shared: { core: decodedOf(world.core), ...served },
    settings: {
      addresses: [{ host: '127.0.0.1', port: 0, implicit_tls: false }],
      certificate: null,
      sms_domain: 'sms.sandbox.svc',
      mail_domains: ['svc.example'],
      ...options.settings,
    },
    log: world.runtime.log,
    limits: options.limits ?? {},
    certificate_check_ms: options.certificate_check_ms,
    onMail: (outcome) => void outcomes.push(outcome),
  })
  const [{ port } = { port: 0 }] = inlet.addresses
  return {
    world,
    inlet,
    port,
    outcomes,
    /** A client of the first port. */
    mailer: (key: string, more: object = {}) =>
      createTransport({
        host: '127.0.0.1',
        port,
        auth: { user: 'any name', pass: key },
        ignoreTLS: true,
        ...more,
      }),
    async close(): Promise<void> {
      await inlet.close(0)
      await world.close()
    },
  }
}
