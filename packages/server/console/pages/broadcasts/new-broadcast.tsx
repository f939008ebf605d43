import type { Broadcast, ListedTemplate, TemplateVersion } from '@svc/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import {
  Button,
  confirm,
  Empty,
  ErrorBox,
  focusFault,
  LinkButton,
  Loaded,
  PageHead,
  Select,
  TextArea,
  TextInput,
  toast,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { count, credits, exactTime } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import { go, query } from '../../shell/router.ts'
import { mode, session } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { inputTime, instantOf, timeZone } from '../../shell/time-zone.ts'
import { missingFor } from '../bulks/recipients.ts'
import { keyFor, used } from '../compose/idempotency.ts'
import { useKnownTags } from '../contacts/known-tags.ts'
import { type Channel, channelName, SENT_CHANNELS } from '../messages/channels.ts'
import { Stopped } from '../messages/stopped.tsx'
import { type Draft, draftOf, EMPTY, requestOf, tagsIn, textOfTags } from './draft.ts'
import { PreviewCard, usePreview } from './preview.tsx'

type Published = ListedTemplate & { version: number }

/** Whether a broadcast can have the template. A layout is no message, and a broadcast makes no calls. */
function mayBroadcast({ name, category, variants }: ListedTemplate): boolean {
  const isOfBroadcast = /^broadcast-[\da-f-]{36}$/.test(name)
  return (
    category !== 'layout' && !isOfBroadcast && variants.some(({ channel }) => channel !== 'voice')
  )
}

/** A broadcast that was not created: it is there again when the person comes back to the page. */
let kept: { by: string; template: string; draft: Draft } | null = null

const person = () => `${session.value?.user.id} ${session.value?.workspace_id}`

function NewBroadcast() {
  const editing = query.value.get('edit')
  const load = useLoad(
    async (signal) => {
      const edited = editing ? (await api.broadcasts.get(editing, { signal })).broadcast : null
      const templates: Published[] = []
      for await (const one of api.templates.list({ limit: 100 }, { signal })) {
        if (one.version === null) continue
        if (mayBroadcast(one) || one.name === edited?.template.name) {
          templates.push(one as Published)
        }
      }
      return { templates, edited }
    },
    [editing],
  )
  return (
    <>
      <PageHead title={editing ? t('Edit broadcast') : t('New broadcast')}>
        <LinkButton icon="left" to="/broadcasts">
          {t('All broadcasts')}
        </LinkButton>
      </PageHead>
      {mode.value === 'test' ? (
        <Empty icon="broadcasts" title={t('No broadcasts in test mode')}>
          <p>{t('Test mode has no contacts. Switch it off to send a broadcast.')}</p>
        </Empty>
      ) : (
        <Loaded of={load}>
          {({ templates, edited }) =>
            templates.length > 0 ? (
              <ChooseTemplate key={editing} {...{ templates, edited }} />
            ) : (
              <Empty icon="templates" title={t('No published template')}>
                <p>
                  {t(
                    'A broadcast sends a template. Write one, look at its preview, and publish it.',
                  )}
                </p>
                <LinkButton kind="primary" to="/templates?new=1">
                  {t('New template')}
                </LinkButton>
              </Empty>
            )
          }
        </Loaded>
      )}
    </>
  )
}

function ChooseTemplate({
  templates,
  edited,
}: {
  templates: readonly Published[]
  /** The broadcast that the form changes; null for a new one. */
  edited: Broadcast | null
}) {
  const own = kept?.by === person() ? kept : null
  const before = edited ? { template: edited.template.name, draft: draftOf(edited) } : own
  const asked = query.value.get('template') ?? before?.template
  const [name, setName] = useState(
    (templates.find((one) => one.name === asked) ?? templates[0])?.name ?? '',
  )
  const [draft, setDraft] = useState(before?.template === name ? before.draft : EMPTY)
  const version = draft.version ?? templates.find((one) => one.name === name)?.version
  const load = useLoad(
    (signal) => api.templates.version(name, String(version), { signal }).then((one) => one.version),
    [name, version],
  )
  const change = (next: Draft, template = name) => {
    setDraft(next)
    if (!edited) kept = { by: person(), template, draft: next }
  }
  const choice = (
    <Select
      label={t('Template')}
      hint={
        draft.version === undefined
          ? t('Its newest published version is sent.')
          : t('Version {version} is sent, also if there is a newer one.', {
              version: draft.version,
            })
      }
      value={name}
      options={templates.map((one) => [one.name, one.name])}
      onInput={(one) => {
        setName(one)
        const { version: _, ...rest } = draft
        change({ ...rest, channel: edited?.channel ?? '', locale: '', values: {} }, one)
      }}
    />
  )
  return (
    <Loaded of={load}>
      {(template) => <Form key={name} {...{ template, choice, draft, edited }} setDraft={change} />}
    </Loaded>
  )
}

/** What each contact has; others come from its attributes. */
const OF_CONTACTS = ['name', 'phone', 'email', 'external_id']

/** The variables that need a value here if a contact has none: the declared ones, and others of the text without a fallback. */
function namesOf({ variables }: TemplateVersion, content: object): string[] {
  const declared = variables.map(({ name }) => String(name))
  const others = missingFor(content)
    .split(', ')
    .filter((name) => /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*$/u.test(name) && name !== 'else')
  return [...new Set([...declared, ...others])].filter((name) => !OF_CONTACTS.includes(name))
}

function Form({
  template,
  choice,
  draft,
  edited,
  setDraft,
}: {
  template: TemplateVersion
  choice: preact.JSX.Element
  draft: Draft
  edited: Broadcast | null
  setDraft(draft: Draft): void
}) {
  const channels = SENT_CHANNELS.filter(
    ([id]) => id !== 'voice' && template.variants.some(({ channel }) => channel === id),
  )
  const channel = draft.channel || (channels[0]?.[0] ?? '')
  const variants = template.variants.filter((one) => one.channel === channel)
  const main = variants.find(({ locale }) => locale === (draft.locale || template.default_locale))
  const [error, setError] = useState<unknown>()
  const form = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (error !== undefined) focusFault(form.current)
  }, [error])
  const { body, faults } = requestOf(draft, { template, channel, edited })
  const preview = usePreview(faults.length === 0 && channel !== '' ? body : null)
  const { data, isCurrent } = preview
  const set = (change: Partial<Draft>) => {
    setDraft({ ...draft, ...change })
    setError(undefined)
  }
  const errorOf = (path: string) =>
    fieldError({ details: faults }, path) ?? fieldError(error ?? preview.error, path)
  const field = (name: Exclude<keyof Draft, 'values' | 'version'>, path: string = name) => ({
    value: draft[name],
    error: errorOf(path),
    onInput: (value: string) => set({ [name]: value }),
  })

  async function send(isDraft: boolean) {
    if (!data) return
    if (!isDraft) {
      const exact = credits(data.credits_needed)
      const price = data.is_estimate ? t('about {price}', { price: exact }) : exact
      const isConfirmed = await confirm({
        title: t('Send {sendable} for {price}?', {
          sendable: count(data.sendable, 'message'),
          price,
        }),
        text: `${beginWords(draft)} ${t('You can pause or cancel the broadcast at any moment.')}`,
        action: draft.begin ? t('Schedule') : t('Send'),
      })
      if (!isConfirmed) return
    }
    const request = isDraft ? { ...body, draft: true } : body
    try {
      const { broadcast } = await api.broadcasts.create(request, {
        idempotencyKey: keyFor(request),
      })
      used(request)
      kept = null
      go(`/broadcasts/${broadcast.id}`)
    } catch (failure) {
      setError(failure)
    }
  }

  async function save({ id }: Broadcast) {
    const { template, audience, name, from, rate, scheduled_at, time_zone } = body
    try {
      await api.broadcasts.update(id, {
        ...{ template, audience, name: name ?? null, from: from ?? null, rate: rate ?? null },
        ...{ scheduled_at: scheduled_at ?? null, time_zone: time_zone ?? null },
      })
      toast(t('The broadcast was changed.'))
      go(`/broadcasts/${id}`)
    } catch (failure) {
      setError(failure)
    }
  }

  const contacts = count(data?.sendable ?? 0, 'contact')
  const isReady = isCurrent && data !== undefined && data.sendable > 0
  return (
    <div class="columns" ref={form}>
      <div class="stack">
        <section class="card form" aria-labelledby="message">
          <h2 id="message">{t('Message')}</h2>
          <Stopped channel={channel} />
          {choice}
          {channels.length > 1 && !edited && (
            <Select
              label={t('Channel')}
              {...field('channel')}
              value={channel}
              options={channels}
              onInput={(one) => set({ channel: one, locale: '' })}
            />
          )}
          {variants.length > 1 && (
            <Select
              label={t('Language')}
              {...field('locale', 'template.locale')}
              options={[
                ['', t('Default ({default_locale})', { default_locale: template.default_locale })],
                ...variants.map(({ locale }) => [locale, locale] as const),
              ]}
            />
          )}
          {namesOf(template, main?.content ?? {}).map((name) => (
            <TextInput
              key={name}
              label={t('Value of {name}', { name })}
              hint={t('For contacts that have no attribute of this name.')}
              error={errorOf(`template.variables.${name}`)}
              value={draft.values[name] ?? ''}
              onInput={(value) => set({ values: { ...draft.values, [name]: value } })}
            />
          ))}
          <TextInput
            label={t('Name')}
            hint={t('For you and your colleagues; empty: the name of the template.')}
            {...field('name')}
          />
        </section>
        <section class="card form" aria-labelledby="audience">
          <h2 id="audience">{t('Audience')}</h2>
          <Tags
            label={t('Tags')}
            hint={t('Contacts with at least one of them. Empty: all contacts.')}
            {...field('tags', 'audience.tags')}
          />
          <Tags
            label={t('Without')}
            hint={t('Contacts with one of these tags get nothing.')}
            {...field('without', 'audience.exclude_tags')}
          />
          <TextArea
            label={t('Attributes')}
            rows={2}
            placeholder={t('city = Berlin')}
            hint={t(
              'One a line; a contact must have all of them. A number or yes and no with :=, such as age := 42 or member := true.',
            )}
            {...field('attributes', 'audience.attributes')}
          />
          <TextArea
            label={t('Without these attributes')}
            rows={2}
            placeholder={t('city = Berlin')}
            hint={t('One a line, as above; contacts with one of them get nothing.')}
            {...field('withoutAttributes', 'audience.exclude_attributes')}
          />
        </section>
        <section class="card form" aria-labelledby="time">
          <h2 id="time">{t('Time')}</h2>
          <Select
            label={t('Beginning')}
            value={draft.begin}
            options={BEGINNINGS}
            onInput={(begin) =>
              set({ begin: begin as Draft['begin'], at: draft.at || tomorrowAtNine() })
            }
          />
          {draft.begin && (
            <TextInput
              label={t('Date and time')}
              type="datetime-local"
              hint={
                draft.begin === 'later'
                  ? t('In your time zone, {timeZone}.', { timeZone: timeZone() })
                  : t(
                      'On the clock of each recipient: the attribute time_zone of the contact, else the country of the number, else the zone of the workspace.',
                    )
              }
              {...field('at', 'scheduled_at')}
            />
          )}
          <TextInput
            label={t('Messages in a minute')}
            type="number"
            min="1"
            hint={t('Empty: as fast as possible. A slow start leaves time to pause it.')}
            {...field('rate')}
          />
          <TextInput
            label={t('Sender')}
            hint={t('{channelName}: empty for the one of the service.', {
              channelName: channelName(channel as Channel),
            })}
            {...field('from')}
          />
        </section>
      </div>
      <div class="stack follow">
        <PreviewCard preview={preview} />
        {error !== undefined && <ErrorBox error={error} />}
        {edited ? (
          <div class="actions">
            <Button kind="primary" disabled={!isReady} onClick={() => save(edited)}>
              {t('Save')}
            </Button>
          </div>
        ) : (
          <div class="actions">
            <Button kind="primary" disabled={!isReady} onClick={() => send(false)}>
              {draft.begin
                ? t('Schedule for {contacts}…', { contacts })
                : t('Send to {contacts}…', { contacts })}
            </Button>
            <Button disabled={!isReady} onClick={() => send(true)}>
              {t('Save as draft')}
            </Button>
          </div>
        )}
      </div>
    </div>
  )
}

const BEGINNINGS = [
  ['', t('At once')],
  ['later', t('At a time')],
  ['recipient', t('At a time of each recipient')],
] as const

function tomorrowAtNine(): string {
  const day = new Date()
  day.setDate(day.getDate() + 1)
  return `${inputTime(day).slice(0, 10)}T09:00`
}

function beginWords({ begin, at }: Draft): string {
  if (begin === 'recipient') {
    return t(
      'Each contact gets it when its own clocks show {at}. All messages are paid together, when the first time zone reaches it.',
      { at: exactTime(instantOf(at)) },
    )
  }
  const start = begin
    ? t('It begins on {at}.', { at: exactTime(instantOf(at)) })
    : t('It begins at once.')
  return `${start} ${t('Each message is paid when its turn comes.')}`
}

/** Tags with commas between them. Those that contacts have are offered. */
function Tags(props: Parameters<typeof TextInput>[0]) {
  const known = useKnownTags()
  const chosen = tagsIn(props.value)
  const offered = known.filter((tag) => !chosen.includes(tag)).slice(0, OFFERED)
  return (
    <div>
      <TextInput {...props} placeholder={t('vip, newsletter')} />
      {offered.length > 0 && (
        <p class="tags offered">
          {offered.map((tag) => (
            <button
              key={tag}
              type="button"
              class="badge"
              aria-label={t('{label}: add {tag}', { label: props.label, tag })}
              onClick={() => props.onInput(textOfTags([...chosen, tag]))}
            >
              + {tag}
            </button>
          ))}
        </p>
      )}
    </div>
  )
}

const OFFERED = 12

export default { title: t('New broadcast'), Page: NewBroadcast }
