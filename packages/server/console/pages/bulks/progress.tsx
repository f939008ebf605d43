import { number } from '../../shell/format.ts'
import { t } from '../../shell/text.ts'

/** The part of a bulk's messages that is not queued any more. */
export function Progress({ of, left }: { of: number; left: number }) {
  const done = of - left
  return (
    <progress
      max={of}
      value={done}
      title={t('{done} of {of}', { done: number(done), of: number(of) })}
    >
      {number(done)}
    </progress>
  )
}

/** The state that a member sees: `paused` while a pause holds queued messages. */
export function stateOf(
  { status, paused_at }: { status: string; paused_at: string | null },
  queued: number,
): string {
  return paused_at !== null && queued > 0 ? 'paused' : status
}
