import type { ListedTemplate, Template } from '@svc/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import {
  Badge,
  Button,
  confirm,
  ErrorBox,
  focusFault,
  LinkButton,
  PageHead,
  Select,
  TextArea,
  TextInput,
  toast,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { go } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import {
  type Edited,
  type EditedVariant,
  editedOf,
  isSame,
  keep,
  newTemplate,
  requestOf,
  unsavedOf,
} from './edited.ts'
import { Preview, plain, usePreview } from './preview.tsx'
import { Variables } from './variables.tsx'
import { VariantFields } from './variant-fields.tsx'
import { Compare, Versions } from './versions.tsx'

const CATEGORIES = [
  ['transactional', t('Transactional')],
  ['marketing', t('Marketing')],
  ['layout', t('Layout of e-mails')],
] as const

/** The state of a template: whether messages can use it, and whether they use its draft. */
export function TemplateState({
  version,
  is_changed,
}: Pick<ListedTemplate, 'version' | 'is_changed'>) {
  if (version === null) return <Badge tone="warn">{t('not published')}</Badge>
  return is_changed ? (
    <Badge tone="busy">{t('draft changed')}</Badge>
  ) : (
    <Badge tone="good">{t('published')}</Badge>
  )
}

/** The draft of a template, or of a new one, with its preview and its versions. `onChange`: after it was stored. */
export function Editor({
  template,
  onChange,
}: {
  template: Template | null
  onChange(template: Template): void
}) {
  const stored = template ? editedOf(template) : newTemplate()
  const place = template?.name ?? ''
  const kept = unsavedOf(place)
  const [edited, setEdited] = useState(kept?.edited ?? stored)
  const [base, setBase] = useState(kept?.base ?? stored)
  const [index, setIndex] = useState(0)
  const [error, setError] = useState<unknown>()
  const [isPublishing, setPublishing] = useState(false)
  const form = useRef<HTMLDivElement>(null)
  const typed = useRef(edited)
  typed.current = edited
  const shown = Math.min(index, edited.variants.length - 1)
  const preview = usePreview(edited, shown)
  const { body, faults } = requestOf(edited)
  const isChanged = !isSame(edited, base)
  // A layout may have a newer version, with which the same draft becomes another mail.
  const usesLayout = edited.variants.some(({ layout }) => layout !== '')
  const mayChange = may('send')
  useEffect(() => {
    if (error !== undefined) focusFault(form.current)
  }, [error])

  function set(change: Partial<Edited>) {
    const next = { ...edited, ...change }
    setEdited(next)
    setError(undefined)
    keep(place, next, base)
  }

  /** Takes a stored draft. What was typed after `sent` stays typed. */
  function take(saved: Template, sent = edited) {
    const next = editedOf(saved)
    const now = typed.current === sent ? next : typed.current
    setEdited(now)
    setBase(next)
    keep(saved.name, now, next)
    onChange(saved)
  }

  /** Stores the draft. Returns whether it is stored. */
  async function save(): Promise<boolean> {
    setError(undefined)
    const [fault] = faults
    if (fault) {
      fail(Object.assign(new Error(fault.message), { details: [fault] }))
      return false
    }
    try {
      if (!template) {
        const { description, ...rest } = body
        const name = edited.name.trim()
        const made = await api.templates.create({
          ...rest,
          name,
          ...(description && { description }),
        })
        keep('', base, base)
        take(made.template)
        go(`/templates/${made.template.name}`, { replace: true })
      } else if (await isStillBase(template.name)) {
        const description = body.description || null
        take((await api.templates.update(template.name, { ...body, description })).template)
      } else return false
      toast(t('The draft is saved'))
      return true
    } catch (failure) {
      fail(failure)
      return false
    }
  }

  /** Shows what publishing changes. Without changes of the person, a colleague's draft is taken first. */
  async function publish(): Promise<void> {
    if (isChanged) return setPublishing(await save())
    setError(undefined)
    try {
      const now = (await api.templates.get(place)).template
      take(now)
      setPublishing(true)
    } catch (failure) {
      fail(failure)
    }
  }

  function fail(failure: unknown) {
    const [first] = (failure as { details?: { path: string }[] }).details ?? []
    const at = /^variants\.(\d+)\b/.exec(first?.path ?? '')?.[1]
    if (at !== undefined) setIndex(Number(at))
    setError(failure)
  }

  /** Whether the stored draft did not change meanwhile, or the person overwrites the change. */
  async function isStillBase(name: string): Promise<boolean> {
    const now = (await api.templates.get(name)).template
    if (isSame(editedOf(now), base)) return true
    return confirm({
      title: t('Overwrite the draft?'),
      text: t(
        'A colleague or a program changed the draft after you began. Your draft takes its place.',
      ),
      action: t('Overwrite'),
      danger: true,
    })
  }

  async function discard() {
    const isConfirmed = await confirm({
      title: t('Discard your changes?'),
      text: template ? t('The draft stays as it was saved.') : t('Nothing is stored.'),
      action: t('Discard'),
      danger: true,
    })
    if (!isConfirmed) return
    keep(place, base, base)
    if (!template) return go('/templates')
    setEdited(stored)
    setBase(stored)
    setError(undefined)
  }

  async function remove() {
    const isConfirmed = await confirm({
      title: t('Delete {place}?', { place }),
      text: t(
        'Requests that name the template are refused then. Sent and scheduled messages stay.',
      ),
      action: t('Delete'),
      danger: true,
    })
    if (!isConfirmed) return
    await api.templates.delete(place)
    keep(place, base, base)
    toast(t('The template was deleted'))
    go('/templates')
  }

  const errorOf = (path: string) => plain(fieldError(error, path))
  const locales = [...new Set(edited.variants.map(({ locale }) => locale))]
  return (
    <>
      <PageHead
        title={template ? template.name : t('New template')}
        text={
          template && (
            <span class="tags">
              <TemplateState {...template} />
              {template.version !== null && (
                <Badge>{t('version {version}', { version: template.version })}</Badge>
              )}
            </span>
          )
        }
      >
        <LinkButton icon="left" to="/templates">
          {t('All templates')}
        </LinkButton>
        {template?.version && template.category !== 'layout' && mayChange && (
          <LinkButton icon="broadcasts" to={`/broadcasts/new?template=${template.name}`}>
            {t('Send as broadcast')}
          </LinkButton>
        )}
        {template && mayChange && (
          <Button kind="danger" icon="trash" onClick={remove}>
            {t('Delete')}
          </Button>
        )}
      </PageHead>
      <div class="columns template" ref={form}>
        {!template && (
          <div class="card">
            <TextInput
              label={t('Name')}
              hint={t(
                'Programs send the template by this name, such as order-ready. It cannot be changed later.',
              )}
              autofocus
              error={errorOf('name')}
              value={edited.name}
              onInput={(name) => set({ name })}
            />
          </div>
        )}
        <VariantFields
          {...{ edited, set, mayChange, preview }}
          index={shown}
          isNew={!template}
          error={error}
          faults={faults}
          onChoose={setIndex}
        />
        <Preview preview={preview} variant={edited.variants[shown] as EditedVariant} />
        <Variables {...{ edited, set, mayChange, preview, error }} />
        <fieldset class="card form" disabled={!mayChange} aria-label={t('About the template')}>
          <Select
            label={t('Default language')}
            hint={t('For recipients whose language has no text. Every channel needs a text in it.')}
            error={errorOf('default_locale')}
            value={edited.default_locale || (locales[0] ?? '')}
            options={locales.map((locale) => [locale, locale])}
            onInput={(default_locale) => set({ default_locale })}
          />
          <Select
            label={t('Category')}
            hint={t('Quiet hours hold for the messages of one category.')}
            error={errorOf('category')}
            value={edited.category}
            options={CATEGORIES}
            onInput={(category) => set({ category: category as Edited['category'] })}
          />
          <TextArea
            label={t('Description')}
            rows={2}
            hint={t('For your colleagues.')}
            error={errorOf('description')}
            value={edited.description}
            onInput={(description) => set({ description })}
          />
        </fieldset>
      </div>
      {mayChange && (
        <div class="save-bar">
          {error !== undefined && <ErrorBox error={error} />}
          <span role="status">{isChanged ? t('Not saved') : template && t('Saved')}</span>
          {isChanged && (
            <Button kind="quiet" onClick={discard}>
              {t('Discard')}
            </Button>
          )}
          <Button disabled={!isChanged} onClick={save}>
            {t('Save')}
          </Button>
          {template && (
            <Button
              kind="primary"
              disabled={!isChanged && !template.is_changed && !usesLayout}
              onClick={publish}
            >
              {t('Publish…')}
            </Button>
          )}
        </div>
      )}
      {isPublishing && template && (
        <Compare
          title={t('Publish {name}', { name: template.name })}
          text={t('New messages use this text from now on. Lines in red go, lines in green come.')}
          name={template.name}
          from={template.version}
          to={stored}
          action={t('Publish')}
          onPublished={take}
          onClose={() => setPublishing(false)}
        />
      )}
      {template && template.version !== null && (
        <Versions template={template} draft={edited} onPublished={take} />
      )}
    </>
  )
}
