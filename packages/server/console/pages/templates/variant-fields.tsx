import { useEffect, useRef, useState } from 'preact/hooks'
import {
  Button,
  confirm,
  FormDialog,
  Select,
  Tabs,
  TextArea,
  TextInput,
} from '../../parts/index.ts'
import { fieldError } from '../../shell/api.ts'
import { t } from '../../shell/text.ts'
import type { Fault } from '../compose/filled.ts'
import { CHANNELS, type Channel, channelName } from '../messages/channels.ts'
import { Approval } from './approval.tsx'
import { type Edited, type EditedVariant, newVariant, whatsappTemplateOf } from './edited.ts'
import { type Previewed, plain } from './preview.tsx'

const FIELDS = ['subject', 'html', 'text', 'layout', 'preview_text', 'more'] as const

type Field = (typeof FIELDS)[number]

const MORE = {
  sms: '',
  email: '{"reply_to": "shop@acme.example"}',
  whatsapp: '{"template": {"name": "order_ready", "language": "en"}}',
  voice: '{"language": "en-GB"}',
}

/** The text for one channel and one language, and the choice of it. */
export function VariantFields({
  edited: { variants, default_locale, category },
  index,
  isNew,
  mayChange,
  error,
  faults,
  preview,
  set,
  onChoose,
}: {
  edited: Edited
  index: number
  /** Whether the template is not stored yet. */
  isNew: boolean
  mayChange: boolean
  /** Of the last try to save. */
  error: unknown
  /** Those that the page finds itself. */
  faults: readonly Fault[]
  preview: Previewed
  set(change: Partial<Edited>): void
  onChoose(index: number): void
}) {
  const [isAdding, setAdding] = useState(false)
  const shown = variants[index] as EditedVariant
  const { channel, locale } = shown
  const channels = CHANNELS.filter(([id]) => variants.some((one) => one.channel === id))
  const ofChannel = variants.filter((one) => one.channel === channel)
  const approved = whatsappTemplateOf(shown)
  const title = t('{channel} in {locale}', { channel: channelName(channel), locale })
  const change = (part: Partial<EditedVariant>) =>
    set({ variants: variants.map((one, i) => (i === index ? { ...one, ...part } : one)) })

  function choose(id: string, wanted: string) {
    const same = variants.filter((one) => one.channel === id)
    const next = same.find((one) => one.locale === wanted) ?? same[0]
    if (next) onChoose(variants.indexOf(next))
  }

  async function remove() {
    const isConfirmed = await confirm({
      title: t('Remove {title}?', { title }),
      text: t('The published version keeps this text until you publish again.'),
      action: t('Remove'),
      danger: true,
    })
    if (!isConfirmed) return
    const left = variants.filter((one) => one !== shown)
    const hasDefault = left.some((one) => one.locale === default_locale)
    set({ variants: left, ...(!hasDefault && { default_locale: left[0]?.locale ?? '' }) })
    onChoose(0)
  }

  const found = faultsOf({ error, faults, preview: preview.error, index, channel })
  const field = (name: Field) => ({
    value: shown[name],
    onInput: (value: string) => change({ [name]: value }),
    error: found(name),
  })
  return (
    <section class="card form" aria-label={t('Texts')}>
      {isNew && variants.length === 1 ? (
        <div class="pair">
          <Select
            label={t('Channel')}
            value={channel}
            options={CHANNELS}
            onInput={(id) => change({ channel: id as Channel })}
          />
          <TextInput
            label={t('Language')}
            error={plain(
              fieldError(error, 'variants.0.locale') ??
                fieldError(preview.error, 'template.variants.0.locale'),
            )}
            value={locale}
            onInput={(next) => change({ locale: next })}
          />
        </div>
      ) : (
        channels.length > 1 && (
          <Tabs
            label={t('Channel')}
            tabs={channels}
            current={channel}
            onChoose={(id) => choose(id, locale)}
          />
        )
      )}
      <div class="filters">
        {(!isNew || variants.length > 1) && (
          <Select
            bare
            label={t('Language')}
            value={locale}
            options={ofChannel.map((one) => [
              one.locale,
              t('{channel} in {locale}', { channel: channelName(channel), locale: one.locale }),
            ])}
            onInput={(next) => choose(channel, next)}
          />
        )}
        {mayChange && (
          <Button icon="plus" onClick={() => setAdding(true)}>
            {t('Add a language or channel')}
          </Button>
        )}
        {mayChange && variants.length > 1 && (
          <Button icon="trash" label={t('Remove {title}', { title })} onClick={remove} />
        )}
      </div>
      <fieldset class="form" key={index} disabled={!mayChange} aria-label={title}>
        {channel === 'email' && category === 'layout' ? (
          <TextArea
            label={t('HTML')}
            rows={16}
            hint={t('With {{content}} once, where the HTML of other templates stands.')}
            {...field('html')}
          />
        ) : channel === 'email' ? (
          <>
            <TextInput label={t('Subject')} {...field('subject')} />
            <TextInput
              label={t('Preview text')}
              hint={t('Shown beside the subject.')}
              {...field('preview_text')}
            />
            <TextInput
              label={t('Layout')}
              hint={t('default, or a template that is a layout.')}
              {...field('layout')}
            />
            <TextArea label={t('HTML')} rows={12} {...field('html')} />
            <TextArea
              label={t('Plain text')}
              rows={4}
              hint={t('Empty: it is made of the HTML.')}
              {...field('text')}
            />
          </>
        ) : (
          <TextArea
            label={t('Text')}
            rows={6}
            hint={t(
              '{{name}} is a value, and {{name|friend}} a value or else a word. {{#if vip}}…{{/if}} is only for some.',
            )}
            {...field('text')}
          />
        )}
        {channel !== 'sms' && <More hint={MORE[channel]} {...field('more')} />}
      </fieldset>
      {approved && <Approval template={approved} />}
      {isAdding && (
        <AddVariant
          {...{ variants, shown }}
          locale={default_locale || (variants[0]?.locale ?? '')}
          onAdd={(one) => {
            set({ variants: [...variants, one] })
            onChoose(variants.length)
            setAdding(false)
          }}
          onClose={() => setAdding(false)}
        />
      )}
    </section>
  )
}

/** The fields of a content that have no field of their own. */
function More({
  hint,
  ...field
}: { hint: string } & Pick<Parameters<typeof TextArea>[0], 'value' | 'error' | 'onInput'>) {
  const [isOpen, setOpen] = useState(field.value !== '')
  const element = useRef<HTMLDetailsElement>(null)
  const hasFault = field.error !== undefined
  useEffect(() => {
    if (hasFault) setOpen(true)
  }, [hasFault])
  return (
    <details ref={element} open={isOpen} onToggle={() => setOpen(element.current?.open ?? false)}>
      <summary>{t('Other fields')}</summary>
      <div class="form">
        <TextArea
          {...field}
          label={t('Other fields of the content')}
          rows={5}
          hint={t('JSON, such as {hint}', { hint })}
        />
      </div>
    </details>
  )
}

interface Detailed {
  details?: readonly Fault[]
}

/** Finds the fault of a field of the shown content. A preview has only this content, at the first place. */
function faultsOf({
  error,
  faults,
  preview,
  index,
  channel,
}: {
  error: unknown
  faults: readonly Fault[]
  preview: unknown
  index: number
  channel: Channel
}): (name: Field) => string | undefined {
  const whole = [`variants.${index}.content`]
  const alone = ['template.variants.0.content', 'variants.0.content', 'content']
  const sources = [
    [error, whole],
    [{ details: faults }, whole],
    [preview, alone],
  ] as const
  const found = new Map<Field, string>()
  for (const [source, places] of sources) {
    for (const { path } of (source as Detailed | undefined)?.details ?? []) {
      const place = places.find((one) => path === one || path.startsWith(`${one}.`))
      if (place === undefined) continue
      const name = fieldOf(path.slice(place.length + 1), channel)
      const fault = plain(fieldError(source, path))
      if (fault && !found.has(name)) found.set(name, fault)
    }
  }
  return (name) => found.get(name)
}

/** The field that shows a fault. A content without any text is one of its whole. */
function fieldOf(rest: string, channel: Channel): Field {
  if (rest === '') return channel === 'email' ? 'html' : 'text'
  return FIELDS.find((name) => name === rest) ?? 'more'
}

/** Asks for the channel and the language of another text. For a channel that is known it begins as the shown text. */
function AddVariant({
  variants,
  shown,
  locale: first,
  onAdd,
  onClose,
}: {
  variants: readonly EditedVariant[]
  shown: EditedVariant
  locale: string
  onAdd(variant: EditedVariant): void
  onClose(): void
}) {
  const [channel, setChannel] = useState(shown.channel)
  const [locale, setLocale] = useState('')
  const [fault, setFault] = useState<string>()
  async function add() {
    const name = localeName(locale || (channel === shown.channel ? '' : first))
    if (name === null) return setFault(t('A language is a tag such as en or de-AT.'))
    if (variants.some((one) => one.channel === channel && one.locale === name)) {
      return setFault(
        t('There is a text for {channel} in {name} already.', {
          channel: channelName(channel),
          name,
        }),
      )
    }
    onAdd(channel === shown.channel ? { ...shown, locale: name } : newVariant(channel, name))
  }
  return (
    <FormDialog
      title={t('Add a language or channel')}
      action={t('Add')}
      onSubmit={add}
      onClose={onClose}
    >
      {() => (
        <>
          <Select
            label={t('Channel')}
            value={channel}
            options={CHANNELS}
            onInput={(id) => {
              setChannel(id as Channel)
              setFault(undefined)
            }}
          />
          <TextInput
            label={t('Language')}
            autofocus
            placeholder={channel === shown.channel ? 'de' : first}
            hint={
              channel === shown.channel
                ? t('It begins with the text in {locale}, for a translation.', {
                    locale: shown.locale,
                  })
                : t('Empty: {first}.', { first })
            }
            error={fault}
            value={locale}
            onInput={(next) => {
              setLocale(next)
              setFault(undefined)
            }}
          />
        </>
      )}
    </FormDialog>
  )
}

function localeName(given: string): string | null {
  try {
    return Intl.getCanonicalLocales(given.trim())[0] ?? null
  } catch {
    return null
  }
}
