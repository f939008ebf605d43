import type { ContactsImportData } from '@svc/client'
import { useRef, useState } from 'preact/hooks'
import { csvRows, csvText, unguarded } from '../../parts/csv.ts'
import { download } from '../../parts/download.ts'
import { Button, Drawer, ErrorBox, Facts, Field } from '../../parts/index.ts'
import { inWords } from '../../shell/api.ts'
import { count, number } from '../../shell/format.ts'
import { ownApi } from '../../shell/own-api.ts'
import { fieldsOf, meaningOf, plainPhone } from './fields.ts'

/** Below the limits of a request: 10,000 contacts and 4 MiB. */
const ROWS_PER_REQUEST = 1_000
const CHARACTERS_PER_REQUEST = 1_000_000
/** The browser holds the whole file. */
const FILE_MAX_BYTES = 20_000_000
const SHOWN = 5
/** The column of a file of rejected rows that says why. */
const REASON = 'import_error'
const NAMING = ['phone', 'email', 'external_id']

interface File {
  name: string
  header: string[]
  /** What the columns mean. */
  fields: string[]
  rows: string[][]
}

interface Progress {
  /** The number of rows that were sent. */
  done: number
  counts: { created: number; updated: number; unchanged: number }
  rejected: [row: string[], reason: string][]
}

const NONE: Progress = {
  done: 0,
  counts: { created: 0, updated: 0, unchanged: 0 },
  rejected: [],
}

async function read(file: globalThis.File): Promise<File> {
  if (file.size > FILE_MAX_BYTES) throw new Error('The file is larger than 20 MB. Divide it.')
  const text = new TextDecoder('utf-8', { fatal: true })
  const bytes = await file.arrayBuffer()
  let rows: string[][]
  try {
    rows = csvRows(text.decode(bytes)).map((row) => row.map(unguarded))
  } catch {
    throw new Error('The file is not UTF-8. Save it as “CSV UTF-8”.')
  }
  // A corrected file of rejected rows.
  if (rows[0]?.at(-1) === REASON) rows = rows.map((row) => row.slice(0, -1))
  const [header = [], ...contacts] = rows
  const fields = fieldsOf(header)
  if (!fields.some((field) => NAMING.includes(field))) {
    throw new Error(`The first row must name a column ${NAMING.join(', ')}.`)
  }
  if (contacts.length === 0) throw new Error('The file has no rows below its header.')
  const phone = fields.indexOf('phone')
  for (const row of contacts) if (row[phone]) row[phone] = plainPhone(row[phone])
  return { name: file.name, header, fields, rows: contacts }
}

/** Sends the next rows; the service rejects faulty ones without the others. */
async function sendNext({ fields, rows }: File, before: Progress): Promise<Progress> {
  const { done, counts, rejected } = before
  let end = done
  let size = 0
  while (end < rows.length && end - done < ROWS_PER_REQUEST && size < CHARACTERS_PER_REQUEST) {
    size += rows[end]?.join().length ?? 0
    end += 1
  }
  const taken = rows.slice(done, end)
  const fitting = taken.filter((row) => row.length === fields.length)
  const uneven = taken.filter((row) => row.length !== fields.length)
  const answer =
    fitting.length > 0
      ? await ownApi.send<ContactsImportData>(
          'POST',
          '/v1/contacts/import',
          csvText([fields, ...fitting]),
        )
      : { created: 0, updated: 0, unchanged: 0, errors: [] }
  return {
    done: end,
    counts: {
      created: counts.created + answer.created,
      updated: counts.updated + answer.updated,
      unchanged: counts.unchanged + answer.unchanged,
    },
    rejected: [
      ...rejected,
      ...answer.errors.map(({ index, message }): [string[], string] => [
        fitting[index] ?? [],
        inWords(message),
      ]),
      ...uneven.map((row): [string[], string] => [
        row,
        'The row has another number of cells than the header',
      ]),
    ],
  }
}

/** The import of a CSV file: preview, progress, and the rejected rows as a file. */
export function Import({ onClose, onDone }: { onClose(): void; onDone(): void }) {
  const [file, setFile] = useState<File>()
  const [progress, setProgress] = useState(NONE)
  const [error, setError] = useState<unknown>()
  const [isRunning, setRunning] = useState(false)
  const isGone = useRef(false)
  async function choose(chosen: globalThis.File | undefined) {
    setError(undefined)
    setProgress(NONE)
    setFile(undefined)
    if (chosen) await read(chosen).then(setFile, setError)
  }
  async function run(one: File) {
    setRunning(true)
    setError(undefined)
    let now = progress
    try {
      while (now.done < one.rows.length && !isGone.current) {
        now = await sendNext(one, now)
        setProgress(now)
      }
    } catch (failure) {
      setError(failure)
    }
    setRunning(false)
    onDone()
  }
  function close() {
    isGone.current = true
    onClose()
  }
  const { done, counts, rejected } = progress
  const isDone = file && done === file.rows.length
  return (
    <Drawer
      title="Import contacts"
      onClose={close}
      actions={
        file &&
        !isDone && (
          <Button kind="primary" icon="upload" busy={isRunning} onClick={() => void run(file)}>
            {done > 0 ? 'Continue' : `Import ${count(file.rows.length, 'row')}`}
          </Button>
        )
      }
    >
      <div class="form">
        <Field
          label="CSV file"
          hint="UTF-8 with a header row, such as name, phone, email, external_id, tags, unsubscribed. Other columns become attributes. A contact that exists is updated."
        >
          {(control) => (
            <input
              {...control}
              type="file"
              accept=".csv,text/csv"
              disabled={isRunning}
              onChange={({ currentTarget }) => void choose(currentTarget.files?.[0])}
            />
          )}
        </Field>
        {error !== undefined && <ErrorBox error={error} />}
        {file && done === 0 && !isRunning && <Preview {...file} />}
        {file && (done > 0 || isRunning) && (
          <>
            <progress max={file.rows.length} value={done} aria-label="Imported rows" />
            <div role="status">
              <Facts
                of={{
                  Rows: `${number(done)} of ${number(file.rows.length)}`,
                  Created: number(counts.created),
                  Updated: number(counts.updated),
                  Unchanged: number(counts.unchanged),
                  Rejected: number(rejected.length),
                }}
              />
            </div>
          </>
        )}
        {rejected.length > 0 && (
          <>
            <ul class="small">
              {rejected.slice(0, SHOWN).map(([row, reason], i) => (
                <li key={i}>
                  {row.join(', ')}: {reason}
                </li>
              ))}
            </ul>
            <Button
              icon="download"
              onClick={() =>
                download(
                  'rejected.csv',
                  csvText([
                    [...(file?.header ?? []), REASON],
                    ...rejected.map(([row, reason]) => [...row, reason]),
                  ]),
                )
              }
            >
              Rejected rows as CSV
            </Button>
          </>
        )}
      </div>
    </Drawer>
  )
}

function Preview({ header, fields, rows }: File) {
  return (
    <section>
      <h3>
        {count(rows.length, 'row')}, the first {Math.min(SHOWN, rows.length)}:
      </h3>
      <div class="table-box preview">
        <table aria-label="Preview">
          <thead>
            <tr>
              {header.map((name, i) => (
                <th key={i} scope="col">
                  {name}
                  <small class="line">→ {meaningOf(fields[i] ?? '')}</small>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN).map((row, i) => (
              <tr key={i}>
                {fields.map((field, at) => (
                  <td key={at} data-name={meaningOf(field)}>
                    {row[at]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
