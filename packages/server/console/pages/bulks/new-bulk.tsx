import type { BulksSendBody } from '@svc/client'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ReadRecipient, ReadRecipients } from '../../../src/console-api/console-answers.ts'
import { csvText } from '../../parts/csv.ts'
import {
  Button,
  confirm,
  ErrorBox,
  Facts,
  Field,
  FormDialog,
  Loaded,
  PageHead,
  Select,
  Table,
  TextArea,
  TextInput,
  toast,
} from '../../parts/index.ts'
import { api, dataKey, fieldError } from '../../shell/api.ts'
import { facts } from '../../shell/facts.ts'
import { count, credits, number, tableWords } from '../../shell/format.ts'
import { askLater, useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { filtersOf, go, isReturn, query } from '../../shell/router.ts'
import { session } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { inWords, wordOf } from '../../shell/words.ts'
import { ChannelTabs, ContentFields, MoreFields } from '../compose/content-fields.tsx'
import { type Draft, draftFrom, EMPTY, isComplete, sharedOf } from '../compose/draft.ts'
import { EstimateCard, useEstimate } from '../compose/estimate.tsx'
import { keyFor, used } from '../compose/idempotency.ts'
import { useKnownTags } from '../contacts/known-tags.ts'
import { Stopped } from '../messages/stopped.tsx'
import { BulkPreview } from './preview.tsx'
import { missingFor, textOf } from './recipients.ts'

const SHOWN = 5

const COLUMNS = [
  {
    name: t('Recipient'),
    kind: 'main' as const,
    value: ({ to, contact_id }: ReadRecipient) => to ?? contact_id,
  },
  { name: t('Name'), value: ({ name }: ReadRecipient) => name ?? '–' },
  {
    name: t('Variables'),
    kind: 'wide' as const,
    value: ({ variables = {} }: ReadRecipient) =>
      Object.entries(variables)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', ') || '–',
  },
]

interface Form extends Source {
  name: string
  draft: Draft
  validation: string
}

const NEW: Form = {
  name: '',
  draft: EMPTY,
  text: '',
  file: null,
  country: '',
  validation: 'permissive',
}

/** The form that was left without sending, and whose it is. */
let left: { form: Form; owner: string } | null = null

const ownerOf = () => `${session.value?.user.id} ${dataKey()}`

function NewBulk() {
  const from = query.value.get('from')
  const [kept] = useState(() => (isReturn() && left?.owner === ownerOf() ? left.form : null))
  if (from && !kept) return <Again id={from} />
  return <BulkForm start={kept ?? NEW} />
}

/** The form with the name, the text and the sender of a bulk that was sent. */
function Again({ id }: { id: string }) {
  const load = useLoad((signal) => api.bulks.get(id, { signal }), [id])
  return (
    <Loaded of={load}>
      {({ bulk: { name, channel, sender, content } }) => (
        <BulkForm
          key={id}
          start={{
            ...NEW,
            name: name ?? '',
            draft: draftFrom({ channel, sender, content: content ?? {} }),
          }}
        />
      )}
    </Loaded>
  )
}

function BulkForm({ start }: { start: Form }) {
  const [name, setName] = useState(start.name)
  const [draft, setDraft] = useState(start.draft)
  const [text, setText] = useState(start.text)
  const [file, setFile] = useState(start.file)
  const [country, setCountry] = useState(start.country)
  const [validation, setValidation] = useState(start.validation)
  const form = useRef(start)
  form.current = { name, draft, text, file, country, validation }
  const isSent = useRef(false)
  // Its cleanup runs before the next page is shown. The cleanup of `useEffect` runs after that, when Forward may already show the form again.
  useLayoutEffect(() => {
    const owner = ownerOf()
    return () => {
      // The data of another workspace may be shown meanwhile, or the session may have ended.
      const isKept = !isSent.current && owner === ownerOf()
      left = isKept ? { form: form.current, owner } : null
    }
  }, [])
  const [error, setError] = useState<unknown>()
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }))
  const [filter, setFilter] = useState<Filter>(filtersOf('search', 'tag'))
  const [isChoosing, setChoosing] = useState(false)
  const { channel } = draft
  const found = useRecipients({ text, file, country }, channel)
  const { recipients, lines, missing, table, faults: unread } = found.read
  useEffect(() => setError(undefined), [draft, text, file, country, validation])
  const known = useKnownTags()
  const fill = async () => {
    setText(await contactsText(filter))
    setFile(null)
  }
  const fillTag = (tag: string) => {
    setFilter({ tag })
    contactsText({ tag }).then((filled) => setText((typed) => typed || filled), setError)
  }
  useEffect(() => {
    // The link of the contacts' page, also after a reload. What the person typed meanwhile stays, and Back fills in nothing again.
    if (isReturn() || !query.value.has('contacts')) return
    contactsText(filter).then((filled) => setText((typed) => typed || filled), setError)
  }, [])
  const { body: shared, faults } = sharedOf(draft)
  const { bulk_recipients_max: max } = facts
  if (recipients.length > max) {
    const message = t('A bulk may have at most {max}. Send several bulks.', {
      max: count(max, 'recipient'),
    })
    faults.push({ path: 'recipients', message })
  }
  const campaign = name.trim()
  const named = campaign && { metadata: { ...shared.metadata, campaign } }
  const body = { ...shared, ...named, recipients, validation } as unknown as Extract<
    BulksSendBody,
    { content: unknown }
  >
  const isReady =
    found.isCurrent &&
    recipients.length > 0 &&
    isComplete({ ...draft, to: 'many' }) &&
    faults.length === 0
  const estimate = useEstimate(isReady ? body : null)
  const errorOf = (path: string) =>
    fieldError({ details: faults }, path) ??
    fieldError(error ?? found.error ?? estimate.error, path)
  const blocked = estimate.data?.messages.filter(({ block_reason }) => block_reason) ?? []
  async function send() {
    setError(undefined)
    const { data } = estimate
    const messages = count(data?.sendable ?? recipients.length, 'message')
    const question = {
      title: data
        ? t('Send {messages} for {price}?', { messages, price: credits(data.credits_needed) })
        : t('Send {messages}?', { messages }),
      text: t('The messages are paid by one debit.'),
      action: t('Send'),
    }
    if (!(await confirm(question))) return
    try {
      const sent = await api.bulks.send(body, { idempotencyKey: keyFor(body) })
      used(body)
      isSent.current = true
      const accepted = count(sent.accepted, 'message')
      const rejected = count(sent.rejected, 'recipient')
      toast(
        sent.rejected > 0
          ? t('{accepted} accepted, {rejected} rejected.', { accepted, rejected })
          : t('{accepted} accepted.', { accepted }),
      )
      go(`/bulks/${sent.bulk_id}`)
    } catch (failure) {
      setError(failure)
    }
  }
  const editing = { draft, set, errorOf }
  return (
    <>
      <PageHead title={t('New bulk')} />
      <div class="columns">
        <div class="stack">
          <div class="card form">
            <div class="actions">
              <Button icon="contacts" onClick={() => setChoosing(true)}>
                {t('From contacts')}
              </Button>
              {!file && text === '' && <OfferedTags tags={known} onChoose={fillTag} />}
            </div>
            {file ? (
              <Field label={t('Recipients')} error={errorOf('recipients')}>
                {(control) => (
                  <div class="actions">
                    <output {...control}>{file.name}</output>
                    <Button onClick={() => setFile(null)}>{t('Remove')}</Button>
                  </div>
                )}
              </Field>
            ) : (
              <>
                <TextArea
                  label={t('Recipients')}
                  rows={6}
                  hint={t(
                    'One per line, or CSV with the columns phone or email, name and others, which become variables.',
                  )}
                  error={errorOf('recipients')}
                  value={text}
                  onInput={setText}
                />
                <Field label={t('Or a file')}>
                  {(control) => (
                    <input
                      {...control}
                      type="file"
                      accept=".csv,.tsv,.txt,text/csv,text/tab-separated-values,text/plain"
                      onChange={({ currentTarget: { files } }) => setFile(files?.[0] ?? null)}
                    />
                  )}
                </Field>
              </>
            )}
            {channel !== 'email' && (
              <TextInput
                label={t('Country of numbers without a country code')}
                hint={t('Two letters, such as DE.')}
                autocomplete="country"
                error={errorOf('default_country')}
                value={country}
                onInput={(code) => setCountry(code.trim().slice(0, 2).toUpperCase())}
              />
            )}
            <Select
              label={t('Faulty recipients')}
              value={validation}
              options={[
                ['permissive', t('Leave them out')],
                ['strict', t('Send nothing if one is faulty')],
              ]}
              onInput={setValidation}
            />
          </div>
          {recipients.length > 0 && (
            <section>
              <Table
                label={t('Recipients')}
                columns={COLUMNS}
                rows={recipients.slice(0, SHOWN)}
                keyOf={(one) => `${recipients.indexOf(one)}`}
              />
              {recipients.length > SHOWN && (
                <p class="pager">
                  {rich('and {number} more', { number: number(recipients.length - SHOWN) })}
                </p>
              )}
            </section>
          )}
          {table && (
            <Facts
              of={{
                [t('Read as')]: tableWords(table),
                [t('Columns')]: table.columns
                  .map(({ name, field }) => `${name} → ${field === 'to' ? t('recipient') : field}`)
                  .join(', '),
              }}
            />
          )}
          {unread[0] && (
            <p class="mode-note">
              {rich('{length} not read. Line {line}: {message}', {
                length: count(unread.length, 'number'),
                line: unread[0].line,
                message: inWords(unread[0].message),
              })}
            </p>
          )}
          {missing > 0 && (
            <p class="mode-note">
              {channel === 'email'
                ? t('{rows} left out: no e-mail address', { rows: count(missing, 'row') })
                : t('{rows} left out: no phone number', { rows: count(missing, 'row') })}
            </p>
          )}
          <div class="card form">
            <TextInput
              label={t('Name')}
              hint={t(
                'To find the bulk again. Its messages have it as campaign in their metadata.',
              )}
              value={name}
              onInput={setName}
            />
            <ChannelTabs {...editing} isBulk />
            <ContentFields {...editing} isBulk />
            <MoreFields {...editing} />
          </div>
        </div>
        <div class="stack follow">
          <Stopped channel={channel} />
          <EstimateCard estimate={estimate} />
          {blocked.length > 0 && (
            <section class="card">
              <h2>{rich('{length} left out', { length: count(blocked.length, 'recipient') })}</h2>
              <ul>
                {blocked.slice(0, SHOWN).map(({ index, to, block_reason }) => (
                  <li key={index}>
                    {to}{' '}
                    <small>
                      {t('line {line}: {reason}', {
                        line: lines[index],
                        reason: wordOf(block_reason ?? ''),
                      })}{' '}
                      {block_reason === 'missing_variable' &&
                        missingFor(body.content, recipients[index])}
                    </small>
                  </li>
                ))}
                {blocked.length > SHOWN && (
                  <li>{rich('and {number} more', { number: number(blocked.length - SHOWN) })}</li>
                )}
              </ul>
            </section>
          )}
          {(error ?? found.error) !== undefined && <ErrorBox error={error ?? found.error} />}
          <Button
            kind="primary"
            disabled={!isReady || estimate.data?.sendable === 0}
            onClick={send}
          >
            {rich('Send to {count}', {
              count: count(estimate.data?.sendable ?? recipients.length, 'recipient'),
            })}
          </Button>
          {isReady && <BulkPreview shared={{ ...shared, channel }} recipients={recipients} />}
        </div>
      </div>
      {isChoosing && (
        <FormDialog
          title={t('Recipients from contacts')}
          action={text ? t('Replace the recipients') : t('Use them')}
          onClose={() => setChoosing(false)}
          onSubmit={async () => {
            await fill()
            setChoosing(false)
          }}
        >
          {() => (
            <>
              <TextInput
                label={t('Search')}
                hint={t(
                  'A part of name, phone, e-mail or own id. Both fields empty: all contacts.',
                )}
                value={filter.search ?? ''}
                onInput={(search) => setFilter({ ...filter, search })}
              />
              <TextInput
                label={t('Tag')}
                value={filter.tag ?? ''}
                onInput={(tag) => setFilter({ ...filter, tag })}
              />
            </>
          )}
        </FormDialog>
      )}
    </>
  )
}

const TAGS_OFFERED = 12

/** Buttons that take the contacts with a tag as recipients. */
function OfferedTags({ tags, onChoose }: { tags: readonly string[]; onChoose(tag: string): void }) {
  return (
    <span class="tags offered">
      {tags.slice(0, TAGS_OFFERED).map((tag) => (
        <button
          key={tag}
          type="button"
          class="badge"
          aria-label={t('All contacts with the tag {tag}', { tag })}
          onClick={() => onChoose(tag)}
        >
          + {tag}
        </button>
      ))}
    </span>
  )
}

/** Where the recipients of a bulk come from: a file, else a text. */
interface Source {
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
function useRecipients({ text, file, country }: Source, channel: string): Found {
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
    const options = { channel, default_country: country || undefined }
    return askLater(
      file ? 0 : TYPING_MS,
      (signal) => ownApi.read<ReadRecipients>('/recipients', body, options, signal),
      (read) => setFound({ of, read }),
      (error) => setFound({ of, read: NONE, error }),
    )
  }, [body, country, channel, dataKey()])
  return { ...found, isCurrent: found.of === source }
}

/** Which contacts; without both: all. */
interface Filter {
  search?: string
  tag?: string
}

/** The greatest maximum that an operator can set for a bulk; the service names its own. */
const CONTACTS_MAX = 10_000
/** The maximum number of variables of a recipient. */
const VARIABLES_MAX = 100

/** Contacts as the text of recipients: those that a search and a tag find. */
async function contactsText({ search, tag }: Filter): Promise<string> {
  const filter = { search: search?.trim() || undefined, tag: tag?.trim() || undefined }
  const { pagination } = await api.contacts.list({ ...filter, limit: 1 })
  const { total } = pagination
  if (total === 0) throw new Error(t('No contact matches.'))
  if (total > CONTACTS_MAX) {
    throw new Error(
      t('{total} match, too many for a bulk. Choose some by a tag.', {
        total: count(total, 'contact'),
      }),
    )
  }
  const { contacts } = await api.contacts.export(filter)
  const rows = contacts.map(
    ({ phone, email, name, attributes: { to: _, ...more } }): Record<string, unknown> => ({
      ...more,
      phone,
      email,
      name,
    }),
  )
  const columns = [...new Set(['phone', 'email', 'name', ...rows.flatMap(Object.keys)])]
  const kept = columns.slice(0, VARIABLES_MAX)
  return csvText([kept, ...rows.map((row) => kept.map((one) => textOf(row[one])))])
}

export default { title: t('New bulk'), Page: NewBulk }
