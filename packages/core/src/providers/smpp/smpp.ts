import type {
  Listening,
  Provider,
  ProviderContext,
  Report,
  Sink,
} from '../../contract/outside/provider.ts'
import { within } from '../../runtime/within.ts'
import { type Bind, openBind } from './bind.ts'
import {
  createIntake,
  createOwnReports,
  createUnusableNotes,
  reportOf,
  type UnusableNotes,
} from './intake.ts'

import { type Delivery, MalformedPdu, type Pdu, readDelivery } from './pdu.ts'
import { createPool, type Pool } from './pool.ts'
import { createSending } from './sending.ts'
import { openSession } from './session.ts'
import { type BindSettings, type SmppSettings, type Timing, timingOf } from './settings.ts'
import { createStatusTable, STATUS, type StatusMeaning, statusText } from './status-table.ts'

const CLOSE_MS = 1000

/** An SMPP 3.4 client: sends messages, and receives receipts and replies, over the same connections. */
export function createSmpp(
  settings: SmppSettings,
  {
    timing = timingOf(settings),
    may_start = () => true,
  }: { timing?: Timing | undefined; may_start?: ProviderContext['may_start'] } = {},
): Provider {
  const meaningOf = createStatusTable(settings.errors)
  const ownReports = createOwnReports()
  const accounts = settings.binds.flatMap(connectionsOf)
  let open: { binds: readonly Bind[]; pool: Pool; close: Listening['close'] } | null = null

  const send = createSending({
    settings,
    timing,
    meaningOf,
    pool: () => open?.pool ?? null,
    report: ownReports.add,
  })

  function listenTo(sink: Sink): Listening {
    const intake = createIntake((reports) => sink.receive(reports))
    const note: Sink['note'] = (level, text, fields) =>
      sink.note(level, text, { provider: settings.name, ...fields })

    function deliver(pdu: Pdu, answer: (status: number) => void, unusable: UnusableNotes): void {
      const report = readReport(pdu)
      if ('unusable' in report) {
        // If the SMSC repeated this delivery, the delivery would be unusable again.
        unusable(report.unusable)
        answer(report.status)
      } else intake.add(report, answer)
    }

    function readReport(pdu: Pdu): Report | { unusable: string; status: number } {
      let delivery: Delivery
      try {
        delivery = readDelivery(pdu)
      } catch (error) {
        if (!(error instanceof MalformedPdu)) throw error
        return { unusable: error.message, status: STATUS.permanent_error }
      }
      const report = reportOf(delivery, settings)
      return 'unusable' in report ? { ...report, status: STATUS.ok } : report
    }

    const binds: Bind[] = accounts.map(({ name, account }) => {
      const unusable = createUnusableNotes((fields) =>
        note('warn', 'SMPP delivery that cannot be stored', { bind: name, ...fields }),
      )
      return openBind(
        { name, account, window: settings.window, timing, meaningOf },
        {
          changed: () => open?.pool.changed(),
          deliver: (pdu, answer) => deliver(pdu, answer, unusable),
          note,
        },
      )
    })
    const pool = createPool(binds, { meaningOf, may_start })

    async function close(grace_ms: number): Promise<void> {
      pool.close()
      // Reports that are being stored are acknowledged before the connection ends.
      await within(grace_ms / 2, intake.idle(), () => {})
      ownReports.close()
      await Promise.all(binds.map((bind) => bind.close(grace_ms / 2)))
    }

    open = { binds, pool, close }
    ownReports.open((report, done) => intake.add(report, (status) => done(status === STATUS.ok)))
    return {
      states: () =>
        binds.map((bind) => ({ name: bind.name, state: bind.state(), detail: bind.detail() })),
      close,
    }
  }

  return {
    name: settings.name,
    send,
    listen: async (sink) => listenTo(sink),
    async check() {
      if (open) return problemsOf(open.binds)
      const results = await Promise.all(
        settings.binds.map(async (account) => {
          const problem = await probe(account, timing, meaningOf)
          return problem === null ? null : `${nameOf(account)}: ${problem}`
        }),
      )
      return joined(results)
    },
    async close() {
      await open?.close(CLOSE_MS)
    },
  }
}

function problemsOf(binds: readonly Bind[]): string | null {
  return joined(
    binds.map((bind) => (bind.state() === 'up' ? null : `${bind.name}: ${bind.detail()}`)),
  )
}

function joined(texts: readonly (string | null)[]): string | null {
  return texts.filter((text) => text !== null).join('; ') || null
}

function connectionsOf(account: BindSettings): { name: string; account: BindSettings }[] {
  const name = nameOf(account)
  if (account.connections === 1) return [{ name, account }]
  return Array.from({ length: account.connections }, (_, i) => ({
    name: `${name}#${i + 1}`,
    account,
  }))
}

function nameOf({ system_id, host, port }: BindSettings): string {
  return `${system_id}@${host}:${port}`
}

/** Binds once, and unbinds. Resolves with the problem, or null. */
function probe(
  account: BindSettings,
  timing: Timing,
  meaningOf: (status: number) => StatusMeaning,
): Promise<string | null> {
  return new Promise((resolve) => {
    let isUp = false
    const session = openSession(
      account,
      { window: 1, timing },
      {
        up() {
          isUp = true
          void session.end(timing.response_ms, 'checked')
        },
        down({ reason, status }) {
          const text = status === null ? reason : statusText(status, meaningOf(status))
          resolve(isUp ? null : text)
        },
        room() {},
        // The probe stores nothing. The SMSC repeats the delivery to the service.
        deliver: (_pdu, answer) => answer(STATUS.temporary_error),
      },
    )
  })
}
