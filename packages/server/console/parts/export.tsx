import { useEffect, useState } from 'preact/hooks'
import { number } from '../shell/format.ts'
import { loadExport } from '../shell/own-api.ts'
import { t } from '../shell/text.ts'
import { Button } from './button.tsx'
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
  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    let count = 0
    const onRows = (arrived: number) => {
      count = arrived
      setRows(arrived)
    }
    loadExport(path, { ...query, format: 'csv' }, { signal, onRows }).then(
      (file) => {
        download(`${name}.csv`, file)
        toast(t('{rows} rows exported.', { rows: number(count) }))
        onClose()
      },
      (cause) => {
        if (!signal.aborted) setError(cause)
      },
    )
    return () => stop.abort()
  }, [])
  return (
    <Dialog
      title={t('Export')}
      isKept
      onClose={onClose}
      actions={<Button onClick={onClose}>{error === undefined ? t('Cancel') : t('Close')}</Button>}
    >
      {error !== undefined && <ErrorBox error={error} />}
      <progress
        {...(total ? { max: total, value: Math.min(rows, total) } : {})}
        aria-label={t('Progress')}
      />
      <p role="status">
        {total
          ? t('{rows} of {total} rows', { rows: number(rows), total: number(total) })
          : t('{rows} rows', { rows: number(rows) })}
      </p>
    </Dialog>
  )
}
