import { openSession } from './session.ts'
import type { BindSettings, Timing } from './settings.ts'
import { STATUS, type StatusMeaning, statusText } from './status-table.ts'

/** Binds once, and unbinds. Resolves with what is wrong, or null. */
export function probe(
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
        // It is the service's to take.
        deliver: (_pdu, answer) => answer(STATUS.temporary_error),
      },
    )
  })
}
