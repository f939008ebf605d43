import type { ContactsImportData } from '@svc/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ContactsPreview } from '../../../src/console-api/console-answers.ts'
import { csvText } from '../../parts/csv.ts'
import { download } from '../../parts/download.ts'

import { Button, Drawer, ErrorBox, Facts, Field, Table, TextInput } from '../../parts/index.ts'
import { fieldError } from '../../shell/api.ts'
import { count, number, tableWords } from '../../shell/format.ts'
import { ownApi } from '../../shell/own-api.ts'
import { rich, t } from '../../shell/text.ts'
import { inWords } from '../../shell/words.ts'

/** Below the limits of a request: 10,000 contacts and 4 MiB. */
const ROWS_PER_REQUEST = 1_000
const CHARACTERS_PER_REQUEST = 1_000_000
const SHOWN = 5
/** The column of a file of rejected rows that says why. The service ignores it. */
const REASON = 'import_error'

type Row = ContactsPreview['rows'][number]
type Counts = Pick<ContactsPreview, 'created' | 'updated' | 'unchanged'>

interface Progress {
  /** The number of accepted rows that were sent. */
  done: number
  counts: Counts
  rejected: [row: Row, reason: string][]
}

const NONE: Counts = { created: 0, updated: 0, unchanged: 0 }

/** The rows that an import takes, and those that it rejects. */
function divide({ rows, errors }: ContactsPreview): {
  good: Row[]
  rejected: Progress['rejected']
} {
  const reasons = new Map(errors.map(({ index, message }) => [index, inWords(message)]))
  const rejected = rows.flatMap((row, i): Progress['rejected'] => {
    const reason = reasons.get(i)
    return reason === undefined ? [] : [[row, reason]]
  })
  return { good: rows.filter((_, i) => !reasons.has(i)), rejected }
}

/** Sends the next rows; the service rejects faulty ones without the others. */
async function sendNext(rows: Row[], { done, counts, rejected }: Progress): Promise<Progress> {
  const taken: Row[] = []
  let size = 0
  for (const row of rows.slice(done, done + ROWS_PER_REQUEST)) {
    size += JSON.stringify(row[2]).length
    if (taken.length > 0 && size > CHARACTERS_PER_REQUEST) break
    taken.push(row)
  }
  const contacts = taken.map(([, , contact]) => contact)
  const answer = await ownApi.send<ContactsImportData>('POST', '/v1/contacts/import', { contacts })
  return {
    done: done + taken.length,
    counts: {
      created: counts.created + answer.created,
      updated: counts.updated + answer.updated,
      unchanged: counts.unchanged + answer.unchanged,
    },
    rejected: [
      ...rejected,
      ...answer.errors.map(({ index, message }): [Row, string] => [
        taken[index] as Row,
        inWords(message),
      ]),
    ],
  }
}

const FIELDS: Record<string, string> = {
  ignored: t('not imported'),
  external_id: t('own id'),
  name: t('name'),
  phone: t('phone'),
  email: t('email'),
  tags: t('tags'),
}

/** What an import makes of a column, for people. */
function meaningOf(field: string): string {
  const name = field.replace(/^attributes\./, '')
  if (name !== field) return t('attribute {name}', { name: name.replaceAll('_', ' ') })
  return FIELDS[field] ?? field.replaceAll('_', ' ')
}

/**
 * The import of a file of contacts. The service reads the file and says what each column becomes and what the import would do;
 * then the person starts it. Shows its progress, and offers the rejected rows as a file.
 */
export function Import({ onClose, onDone }: { onClose(): void; onDone(): void }) {
  const [file, setFile] = useState<File>()
  const [country, setCountry] = useState('')
  const [preview, setPreview] = useState<ContactsPreview>()
  const [progress, setProgress] = useState<Progress>()
  const [error, setError] = useState<unknown>()
  const [isRunning, setRunning] = useState(false)
  const isGone = useRef(false)
  const isCountry = country.length !== 1
  useEffect(() => {
    setPreview(undefined)
    setProgress(undefined)
    setError(undefined)
    if (!file || !isCountry) return
    const ending = new AbortController()
    const { signal } = ending
    const options = { default_country: country || undefined }
    ownApi.read<ContactsPreview>('/contacts/preview', file, options, signal).then(
      (found) => signal.aborted || setPreview(found),
      (failure) => signal.aborted || setError(failure),
    )
    return () => ending.abort()
  }, [file, country])
  const { good, rejected } = preview ? divide(preview) : { good: [], rejected: [] }
  async function run() {
    setRunning(true)
    setError(undefined)
    let now = progress ?? { done: 0, counts: NONE, rejected }
    setProgress(now)
    try {
      while (now.done < good.length && !isGone.current) {
        now = await sendNext(good, now)
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
  const isDone = progress?.done === good.length
  const refused = progress?.rejected ?? rejected
  const counts = progress?.counts ?? preview ?? NONE
  const countryError = fieldError(error, 'default_country')
  return (
    <Drawer
      title={t('Import contacts')}
      onClose={close}
      actions={
        preview?.fault === null &&
        good.length > 0 &&
        !isDone && (
          <Button kind="primary" icon="upload" busy={isRunning} onClick={() => void run()}>
            {progress && !isRunning
              ? t('Continue')
              : t('Import {length}', { length: count(good.length, 'row') })}
          </Button>
        )
      }
    >
      <div class="form">
        <Field
          label={t('CSV file')}
          hint={t(
            'The export of a spreadsheet or of an address book, with a header row. Columns with unknown headings become attributes. A contact that exists is updated.',
          )}
        >
          {(control) => (
            <input
              {...control}
              type="file"
              accept=".csv,.tsv,.txt,text/csv,text/tab-separated-values,text/plain"
              disabled={isRunning}
              onChange={({ currentTarget }) => setFile(currentTarget.files?.[0])}
            />
          )}
        </Field>
        {!progress && (
          <TextInput
            label={t('Country of numbers without a country code')}
            hint={t('Two letters, such as DE. Without it these rows are rejected.')}
            autocomplete="country"
            value={country}
            error={countryError}
            onInput={(code) => setCountry(code.trim().slice(0, 2).toUpperCase())}
          />
        )}
        {error !== undefined && !countryError && <ErrorBox error={error} />}
        {file && isCountry && !preview && error === undefined && (
          <p class="muted" role="status">
            {t('The service reads the file …')}
          </p>
        )}
        {preview && (
          <>
            {preview.fault !== null && <ErrorBox error={new Error(preview.fault)} />}
            {progress && (
              <progress max={good.length} value={progress.done} aria-label={t('Imported rows')} />
            )}
            <div role="status">
              <Facts
                of={{
                  [t('Rows')]: progress
                    ? t('{done} of {length}', {
                        done: number(progress.done),
                        length: number(good.length),
                      })
                    : `${number(preview.rows.length)} (${tableWords(preview.file)})`,
                  [progress ? t('Created') : t('To create')]: number(counts.created),
                  [progress ? t('Updated') : t('To update')]: number(counts.updated),
                  [t('Unchanged')]: number(counts.unchanged),
                  [t('Rejected')]: number(refused.length),
                }}
              />
            </div>
            {refused.length > 0 && (
              <>
                <ul class="small">
                  {refused.slice(0, SHOWN).map(([[line, cells], reason]) => (
                    <li key={line}>
                      {rich('Line {line}: {reason} {small}', {
                        line,
                        reason,
                        small: <small>({cells.filter(Boolean).join(', ').slice(0, 100)})</small>,
                      })}
                    </li>
                  ))}
                </ul>
                <Button icon="download" onClick={() => save(preview, refused)}>
                  {t('Rejected rows as CSV')}
                </Button>
              </>
            )}
            {!progress && <Mapping {...preview} rows={good} />}
          </>
        )}
      </div>
    </Drawer>
  )
}

function save({ file }: ContactsPreview, rejected: Progress['rejected']): void {
  const header = [...file.columns.map(({ name }) => name), REASON]
  download(
    'rejected.csv',
    csvText([header, ...rejected.map(([[, cells], why]) => [...cells, why])]),
  )
}

const COLUMNS = [
  { name: t('Column'), kind: 'main' as const, value: ({ name }: Mapped) => name },
  { name: t('Becomes'), value: ({ field }: Mapped) => meaningOf(field) },
  { name: t('First rows'), value: ({ examples }: Mapped) => examples.join(' | ') || '–' },
]

const CONTACTS = [
  ['name', t('Name')],
  ['phone', t('Phone')],
  ['email', t('E-mail')],
].map(([field = '', name = '']) => ({
  name,
  value: ([, , contact]: Row) => `${(contact as Record<string, unknown>)[field] ?? '–'}`,
}))

type Mapped = ContactsPreview['file']['columns'][number]

function Mapping({ file, warnings, rows }: ContactsPreview) {
  return (
    <>
      {warnings.map((text) => (
        <p key={text} class="mode-note">
          {text}
        </p>
      ))}
      <h3>{t('What the columns become')}</h3>
      <Table
        label={t('Columns')}
        columns={COLUMNS}
        rows={file.columns.filter(({ field, examples }) => field !== 'ignored' || examples[0])}
        keyOf={({ name, field }) => name + field}
      />
      <h3>{t('The first contacts')}</h3>
      <Table
        label={t('Preview')}
        columns={[{ name: t('Line'), value: ([line]: Row) => line }, ...CONTACTS]}
        rows={rows.slice(0, SHOWN)}
        keyOf={([line]) => `${line}`}
      />
    </>
  )
}
