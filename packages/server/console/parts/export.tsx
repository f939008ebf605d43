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
  const [error, setError] = useState<unknown>()
  /** The time of the last row, if the file ends at the limit. */
  const [lastTime, setLastTime] = useState<string>()
  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    const count = new RowCount()
    const onPart = (bytes: Uint8Array) => {
      count.add(bytes)
      setRows(count.rows)
    }
    async function save() {
      const file = await loadExport(path, { ...query, format: 'csv' }, { signal, onPart })
      download(`${name}.csv`, file)
      if (count.rows >= ROWS_MAX) return setLastTime(await count.lastTime(file))
      toast(t('{rows} rows exported.', { rows: number(count.rows) }))
      onClose()
    }
    save().catch((cause) => {
      if (!signal.aborted) setError(cause)
    })
    return () => stop.abort()
  }, [])
  return (
    <Dialog
      title={t('Export')}
      isKept
      onClose={onClose}
      actions={
        <Button onClick={onClose}>
          {error === undefined && lastTime === undefined ? t('Cancel') : t('Close')}
        </Button>
      }
    >
      {error !== undefined && <ErrorBox error={error} />}
      {lastTime === undefined && (
        <progress
          {...(total ? { max: total, value: Math.min(rows, total) } : {})}
          aria-label={t('Progress')}
        />
      )}
      <p role="status">
        {lastTime !== undefined
          ? t('The file ends after {rows} rows, at {time}. Older rows are not in it.', {
              rows: number(rows),
              time: exactTime(lastTime),
            })
          : total
            ? t('{rows} of {total} rows', { rows: number(rows), total: number(total) })
            : t('{rows} rows', { rows: number(rows) })}
      </p>
    </Dialog>
  )
}
