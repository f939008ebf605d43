import { useEffect, useState } from 'preact/hooks'
import { exactTime, number } from '../shell/format.ts'
import { loadExport } from '../shell/own-api.ts'
import { t } from '../shell/text.ts'
import { Button } from './button.tsx'
import { RowCount } from './csv.ts'
import { Dialog } from './dialog.tsx'
import { download } from './download.ts'
import { ErrorBox } from './loaded.tsx'
import { toast } from './toast.tsx'

interface Exported {
  /** The endpoint below `/api`, and its query. */
  path: string
  query: Record<string, string | undefined>
  /** The name of the file without `.csv`. */
  name: string
  /** The number of rows, if it is known. */
  total?: number | null | undefined
}

/** The rows of one export: the limit of the service. */
const ROWS_MAX = 1_000_000

/** A button that saves a whole list as CSV: a dialog shows the progress and can cancel it. */
export function ExportButton(exported: Exported) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button icon="download" onClick={() => setOpen(true)}>
        {t('Export')}
      </Button>
      {isOpen && <Exporting {...exported} onClose={() => setOpen(false)} />}
    </>
  )
}

function Exporting({ path, query, name, total, onClose }: Exported & { onClose(): void }) {
  const [rows, setRows] = useState(0)
  /** The number of the file, and the row after which it begins. */
  const [part, setPart] = useState<{ n: number; after?: string }>({ n: 1 })
  const [error, setError] = useState<unknown>()
  /** The last row, if the file ends at the limit. */
  const [last, setLast] = useState<{ after: string; at: string }>()
  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    const count = new RowCount()
    const onPart = (bytes: Uint8Array) => {
      count.add(bytes)
      setRows(count.rows)
    }
    async function save() {
      const { n, after } = part
      const file = await loadExport(path, { ...query, after, format: 'csv' }, { signal, onPart })
      download(`${name}${n > 1 ? `-${n}` : ''}.csv`, file)
      if (count.rows >= ROWS_MAX) return setLast(await count.lastRow(file))
      toast(t('{rows} rows exported.', { rows: number(count.rows) }))
      onClose()
    }
    save().catch((cause) => {
      if (!signal.aborted) setError(cause)
    })
    return () => stop.abort()
  }, [part])
  return (
    <Dialog
      title={t('Export')}
      isKept
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>
            {error === undefined && !last ? t('Cancel') : t('Close')}
          </Button>
          {last && (
            <Button
              kind="primary"
              onClick={() => {
                setLast(undefined)
                setPart({ n: part.n + 1, after: last.after })
              }}
            >
              {t('Next file')}
            </Button>
          )}
        </>
      }
    >
      {error !== undefined && <ErrorBox error={error} />}
      {!last && (
        <progress
          {...(total && part.n === 1 ? { max: total, value: Math.min(rows, total) } : {})}
          aria-label={t('Progress')}
        />
      )}
      <p role="status">
        {last
          ? t('The file ends after {rows} rows, at {time}. Older rows are not in it.', {
              rows: number(rows),
              time: exactTime(last.at),
            })
          : total && part.n === 1
            ? t('{rows} of {total} rows', { rows: number(rows), total: number(total) })
            : t('{rows} rows', { rows: number(rows) })}
      </p>
    </Dialog>
  )
}
