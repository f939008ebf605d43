import { Badge, Button, Select, TextInput } from '../../parts/index.ts'
import { fieldError } from '../../shell/api.ts'
import { type Edited, type EditedVariable, named, TYPES } from './edited.ts'
import { type Previewed, plain } from './preview.tsx'

const ANSWERS = [
  ['', 'None'],
  ['true', 'Yes'],
  ['false', 'No'],
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
  const sent = named(variables)
  const add = (names: readonly string[]) =>
    set({
      variables: [
        ...variables,
        ...names.map((name) => ({ name, type: 'text' as const, fallback: '', example: '' })),
      ],
    })
  return (
    <fieldset class="card form" disabled={!mayChange} aria-label="Variables">
      <h2>Variables</h2>
      {variables.length === 0 && (
        <p class="muted">
          A program gives the values of variables. Declare one to give it a type, and a value for
          messages without one.
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
        const example = one.type === 'list' ? 'JSON, such as [{"title": "Tea"}]' : undefined
        const isMissing = missing.includes(one.name.trim())
        return (
          <section class="variable" key={i} aria-label={`Variable ${one.name || i + 1}`}>
            <TextInput label="Name" autofocus={one.name === ''} {...field('name')} />
            <Select label="Type" options={TYPES} {...field('type')} />
            {mayChange ? (
              <Button
                kind="quiet"
                icon="trash"
                label={`Remove the variable ${one.name}`}
                onClick={() => set({ variables: variables.filter((each) => each !== one) })}
              />
            ) : (
              <span />
            )}
            {one.type === 'boolean' ? (
              <>
                <Select label="Fallback" options={ANSWERS} {...field('fallback')} />
                <Select label="Example" options={ANSWERS} {...field('example')} />
              </>
            ) : (
              <>
                {one.type !== 'list' && <TextInput label="Fallback" {...field('fallback')} />}
                <TextInput label="Example" hint={example} {...field('example')} />
              </>
            )}
            {isMissing && <Badge tone="warn">no value in the preview</Badge>}
          </section>
        )
      })}
      {mayChange && (
        <div class="actions">
          <Button icon="plus" onClick={() => add([''])}>
            Add a variable
          </Button>
          {unknown.length > 0 && (
            <Button icon="plus" onClick={() => add(unknown)}>
              Declare {unknown.slice(0, 3).join(', ')}
              {unknown.length > 3 && ` and ${unknown.length - 3} more`}
            </Button>
          )}
        </div>
      )}
      <p class="small">
        A message without a value takes the fallback, and is refused without one. Examples are only
        for previews.
      </p>
    </fieldset>
  )
}
