import type { ComponentChildren } from 'preact'
import { count } from '../shell/format.ts'
import type { Load } from '../shell/load.ts'
import { query, setQuery } from '../shell/router.ts'
import { t } from '../shell/text.ts'
import { Button } from './button.tsx'
import { Loaded } from './loaded.tsx'
import { Table, type TableProps } from './table.tsx'

/** The answer of an endpoint that lists: the rows have a name of their own. */
interface Listed {
  pagination?: { total: number }
  next_after: string | null
}

/** A page of a list: its rows as a table and the way to the next page, or `empty` if there are no rows. */
export function ListPage<Answer extends Listed, Row>({
  of,
  rowsOf,
  empty,
  noun,
  plural,
  ...table
}: Omit<TableProps<Row>, 'rows'> & {
  of: Load<Answer>
  rowsOf(answer: Answer): readonly Row[]
  empty: ComponentChildren
  noun: string
  plural?: string
}) {
  return (
    <Loaded of={of}>
      {(answer) => {
        const rows = rowsOf(answer)
        if (rows.length === 0) return empty
        const { pagination, next_after } = answer
        return (
          <>
            <Table {...table} rows={rows} />
            <Pager next={next_after} total={pagination?.total} noun={noun} plural={plural} />
          </>
        )
      }}
    </Loaded>
  )
}

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
  total?: number | undefined
  noun: string
  /** Default: `noun` with an `s`. */
  plural?: string | undefined
}) {
  const after = query.value.get('after')
  if (!next && !after && total === undefined) return null
  return (
    <nav class="pager" aria-label={t('Pages')}>
      <span>{total !== undefined && count(total, noun, plural)}</span>
      {(after || next) && (
        <span class="actions">
          {after && (
            <Button icon="left" onClick={() => setQuery({ after: undefined })}>
              {t('First page')}
            </Button>
          )}
          <Button
            disabled={!next}
            onClick={() => setQuery({ after: next ?? undefined }, { replace: false })}
          >
            {t('Next page')}
          </Button>
        </span>
      )}
    </nav>
  )
}
