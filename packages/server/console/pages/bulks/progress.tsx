import { number } from '../../shell/format.ts'
import { t } from '../../shell/text.ts'

/** The part of `of` that is done: of a bulk, the messages that were sent. `left`: the rest. */
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
