import { useEffect, useState } from 'preact/hooks'
import type { ReadRecipients } from '../../../src/console/wire.ts'
import { dataKey } from '../../shell/api.ts'
import { ownApi } from '../../shell/own-api.ts'

/** Where the recipients of a bulk come from: a file, else a text. */
export interface Source {
  text: string
  file: File | null
  /** The country of numbers without a country code: ISO 3166-1, or empty. */
  country: string
}

interface Found {
  /** What the service read. `recipients` is empty at first. */
  read: ReadRecipients
  error?: unknown
  /** Whether `read` is of the newest source. */
  isCurrent: boolean
}

const NONE: ReadRecipients = { table: null, recipients: [], lines: [], missing: 0, faults: [] }
const TYPING_MS = 400

/** The recipients of a source, which the service reads some time after the last change. */
export function useRecipients({ text, file, country }: Source, channel: string): Found {
  const [found, setFound] = useState<{ of?: object; read: ReadRecipients; error?: unknown }>({
    read: NONE,
  })
  const body = file ?? text
  const isEmpty = !file && text.trim() === ''
  const [source, setSource] = useState<object>({})
  useEffect(() => {
    const of = {}
    setSource(of)
    if (isEmpty) return setFound({ of, read: NONE })
    if (country.length === 1) return
    const ending = new AbortController()
    const { signal } = ending
    const options = { channel, default_country: country || undefined }
    const timer = setTimeout(
      () =>
        ownApi.read<ReadRecipients>('/recipients', body, options, signal).then(
          (read) => signal.aborted || setFound({ of, read }),
          (error) => signal.aborted || setFound({ of, read: NONE, error }),
        ),
      file ? 0 : TYPING_MS,
    )
    return () => {
      clearTimeout(timer)
      ending.abort()
    }
  }, [body, country, channel, dataKey()])
  return { ...found, isCurrent: found.of === source }
}
