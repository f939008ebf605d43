import { Badge, Button, Select, TextInput } from '../../parts/index.ts'
import { fieldError } from '../../shell/api.ts'
import { t } from '../../shell/text.ts'
import { type Edited, type EditedVariable, named, TYPES } from './edited.ts'
import { type Previewed, plain } from './preview.tsx'

const ANSWERS = [
  ['', t('None')],
  ['true', t('Yes')],
  ['false', t('No')],
] as const

/** The variables of a template. Those that the shown text uses without a value are marked, and can be declared. */
export function Variables({
  edited: { variables },
  mayChange,
  preview,
  error,
  set,
}: {
  edited: Edited
  mayChange: boolean
  preview: Previewed
  /** Of the last try to save. */
  error: unknown
  set(change: Partial<Edited>): void
}) {
  const missing = preview.data?.missing ?? []
  const declared = new Set(variables.map(({ name }) => name.trim()))
  const unknown = missing.filter((name) => !declared.has(name))
  const names = unknown.slice(0, 3).join(', ')
  const sent = named(variables)
  const add = (names: readonly string[]) =>
    set({
      variables: [
        ...variables,
        ...names.map((name) => ({ name, type: 'text' as const, fallback: '', example: '' })),
      ],
    })
  return (
    <fieldset class="card form" disabled={!mayChange} aria-label={t('Variables')}>
      <h2>{t('Variables')}</h2>
      {variables.length === 0 && (
        <p class="muted">
          {t(
            'A program gives the values of variables. Declare one to give it a type, and a value for messages without one.',
          )}
        </p>
      )}
      {variables.map((one, i) => {
        const change = (part: Partial<EditedVariable>) =>
          set({ variables: variables.map((each, at) => (at === i ? { ...each, ...part } : each)) })
        const field = (name: 'name' | 'type' | 'fallback' | 'example') => ({
          value: one[name],
          onInput: (value: string) => change({ [name]: value }),
          error: plain(
            fieldError(error, `variables.${i}.${name}`) ??
              fieldError(preview.error, `template.variables.${sent.indexOf(one)}.${name}`),
          ),
        })
        const example = one.type === 'list' ? t('JSON, such as [{"title": "Tea"}]') : undefined
        const isMissing = missing.includes(one.name.trim())
        return (
          <section
            class="variable"
            key={i}
            aria-label={t('Variable {name}', { name: one.name || i + 1 })}
          >
            <TextInput label={t('Name')} autofocus={one.name === ''} {...field('name')} />
            <Select label={t('Type')} options={TYPES} {...field('type')} />
            {mayChange ? (
              <Button
                kind="quiet"
                icon="trash"
                label={t('Remove the variable {name}', { name: one.name })}
                onClick={() => set({ variables: variables.filter((each) => each !== one) })}
              />
            ) : (
              <span />
            )}
            {one.type === 'boolean' ? (
              <>
                <Select label={t('Fallback')} options={ANSWERS} {...field('fallback')} />
                <Select label={t('Example')} options={ANSWERS} {...field('example')} />
              </>
            ) : (
              <>
                {one.type !== 'list' && <TextInput label={t('Fallback')} {...field('fallback')} />}
                <TextInput label={t('Example')} hint={example} {...field('example')} />
              </>
            )}
            {isMissing && <Badge tone="warn">{t('no value in the preview')}</Badge>}
          </section>
        )
      })}
      {mayChange && (
        <div class="actions">
          <Button icon="plus" onClick={() => add([''])}>
            {t('Add a variable')}
          </Button>
          {unknown.length > 0 && (
            <Button icon="plus" onClick={() => add(unknown)}>
              {unknown.length > 3
                ? t('Declare {names} and {number} more', { names, number: unknown.length - 3 })
                : t('Declare {names}', { names })}
            </Button>
          )}
        </div>
      )}
      <p class="small">
        {t(
          'A message without a value takes the fallback, and is refused without one. Examples are only for previews.',
        )}
      </p>
    </fieldset>
  )
}
