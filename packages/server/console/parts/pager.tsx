import { count } from '../shell/format.ts'
import { query, setQuery } from '../shell/router.ts'
import { Button } from './button.tsx'

/**
 * The pages of a list: forward by `next`, the `next_after` of its answer, and back with the history of the browser. The position
 * is in the address as `after`.
 */
export function Pager({
  next,
  total,
  noun,
  plural,
}: {
  next: string | null
  total?: number
  noun: string
  /** Default: `noun` with an `s`. */
  plural?: string
}) {
  const after = query.value.get('after')
  if (!next && !after && total === undefined) return null
  return (
    <nav class="pager" aria-label="Pages">
      <span>{total !== undefined && count(total, noun, plural)}</span>
      {(after || next) && (
        <span class="actions">
          {after && (
            <Button icon="left" onClick={() => setQuery({ after: undefined })}>
              First page
            </Button>
          )}
          <Button
            disabled={!next}
            onClick={() => setQuery({ after: next ?? undefined }, { replace: false })}
          >
            Next page
          </Button>
        </span>
      )}
    </nav>
  )
}
