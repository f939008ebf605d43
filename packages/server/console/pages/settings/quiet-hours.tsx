import type { QuietHours, Workspace } from '@svc/client'
import { useState } from 'preact/hooks'
import { Button, Checks, Form, Select, TextInput, toast } from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import type { Load } from '../../shell/load.ts'
import { may } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { timeZone } from '../../shell/time-zone.ts'
import { DAYS, dayName, exampleOf, ruleWords } from './quiet-words.ts'

const CATEGORIES = [
  ['marketing', t('Marketing')],
  ['transactional', t('Transactional')],
] as const

const NIGHT: QuietHours = { category: 'marketing', start: '21:00', end: '08:00' }

/** The quiet hours of the workspace, and what they do in plain words. */
export function QuietHoursCard({
  workspace,
  account,
}: {
  workspace: Workspace
  account: Load<Workspace>
}) {
  const [rules, setRules] = useState(workspace.quiet_hours ?? [])
  const [zone, setZone] = useState(workspace.time_zone ?? '')
  const mayChange = may('bill')
  const words = (
    <div class="stack">
      {rules.length === 0 ? (
        <p class="muted">
          {t(
            'There are none: messages are sent at any time of the day. Quiet hours hold them back, on the clock of each recipient, and drop none.',
          )}
        </p>
      ) : (
        <ul aria-label={t('What these quiet hours do')}>
          {rules.map((one, i) => (
            <li key={i}>{ruleWords(one)}</li>
          ))}
        </ul>
      )}
      {CATEGORIES.map(([category]) => {
        const example = exampleOf(rules, category)
        return (
          example && (
            <p key={category} class="mode-note good">
              {rich('Example: {example}', { example })}
            </p>
          )
        )
      })}
      {rules.length > 0 && (
        <p class="small">
          {rich(
            'All times are those of the recipient: the attribute time_zone of the contact, else the country of the number if it has one zone, else {zone}. One-time codes never wait.',
            { zone: zone || 'UTC' },
          )}
        </p>
      )}
    </div>
  )
  if (!mayChange) return words
  return (
    <Form
      action={t('Save quiet hours')}
      more={
        <Button icon="plus" onClick={() => setRules([...rules, NIGHT])}>
          {t('Add quiet hours')}
        </Button>
      }
      onSubmit={async () => {
        const quiet_hours = rules.length > 0 ? rules : null
        account.set(await api.workspaces.updateAccount({ quiet_hours, time_zone: zone || null }))
        toast(t('Saved'))
      }}
    >
      {(error) => (
        <>
          {rules.map((rule, i) => (
            <Rule
              key={i}
              rule={rule}
              label={t('Quiet hours {number}', { number: i + 1 })}
              errorOf={(name) => fieldError(error, `quiet_hours.${i}.${name}`)}
              onChange={(next) => setRules(rules.map((one, at) => (at === i ? next : one)))}
              onRemove={() => setRules(rules.filter((_, at) => at !== i))}
            />
          ))}
          {rules.length > 0 && (
            <Select
              label={t('Zone of recipients whose own is not known')}
              error={fieldError(error, 'time_zone')}
              value={zone}
              options={ZONES(zone)}
              onInput={setZone}
            />
          )}
          {words}
        </>
      )}
    </Form>
  )
}

/** All zones that the browser knows, its own and the stored one first. */
function ZONES(stored: string): [string, string][] {
  const others = Intl.supportedValuesOf('timeZone')
  const names = [...new Set([timeZone(), stored, ...others])].filter(Boolean)
  return [['', 'UTC'], ...names.map((one): [string, string] => [one, one.replaceAll('_', ' ')])]
}

/** An input for times has no 24:00; an end at 00:00 is midnight too. */
const inputTimeOf = (time: string) => (time === '24:00' ? '00:00' : time)

function Rule({
  rule,
  label,
  errorOf,
  onChange,
  onRemove,
}: {
  rule: QuietHours
  label: string
  errorOf(name: string): string | undefined
  onChange(rule: QuietHours): void
  onRemove(): void
}) {
  const time = (name: 'start' | 'end') => ({
    type: 'time' as const,
    required: true,
    value: inputTimeOf(rule[name]),
    error: errorOf(name),
    onInput: (value: string) => onChange({ ...rule, [name]: value }),
  })
  const all = [...DAYS]
  return (
    <fieldset class="form rule" aria-label={label}>
      <div class="variable">
        <TextInput label={t('From')} {...time('start')} />
        <TextInput label={t('Until')} {...time('end')} />
        <Button
          kind="quiet"
          icon="trash"
          label={t('Remove {label}', { label })}
          onClick={onRemove}
        />
      </div>
      <Select
        label={t('For')}
        hint={t('The category of the template. A message without one is transactional.')}
        value={rule.category}
        options={CATEGORIES}
        onInput={(category) => onChange({ ...rule, category: category as QuietHours['category'] })}
      />
      <Checks
        label={t('Begins on')}
        options={DAYS.map((day, i) => [day, dayName(i, 'short')])}
        chosen={rule.days ?? all}
        error={errorOf('days')}
        onChange={(chosen) => {
          const { days: _, ...rest } = rule
          const days = all.filter((day) => chosen.includes(day))
          onChange(days.length === all.length ? rest : { ...rest, days })
        }}
      />
    </fieldset>
  )
}
