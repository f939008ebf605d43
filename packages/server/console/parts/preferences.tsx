import { prefer, preference } from '../shell/preferences.ts'
import { LANGUAGES, t } from '../shell/text.ts'
import { Select } from './field.tsx'

const CHOICES = [
  [
    'language',
    t('Language'),
    [
      ['', t('System')],
      ['en', 'English'],
      ...Object.entries(LANGUAGES).map(([tag, { name }]) => [tag, name] as const),
    ],
  ],
  [
    'theme',
    t('Colours'),
    [
      ['', t('System')],
      ['light', t('Light')],
      ['dark', t('Dark')],
    ],
  ],
  [
    'time-zone',
    t('Times'),
    [
      ['', t('Zone of this browser')],
      ['workspace', t('Zone of the workspace')],
      ['UTC', 'UTC'],
    ],
  ],
] as const

/** The choices of a person for this browser. `bare`: only the language, with its label for screen readers. */
export function Preferences({ bare = false }: { bare?: boolean }) {
  return (
    <>
      {CHOICES.slice(0, bare ? 1 : undefined).map(([name, label, options]) => (
        <Select
          key={name}
          bare={bare}
          label={label}
          value={preference(name)}
          options={options}
          onInput={(value) => prefer(name, value)}
        />
      ))}
    </>
  )
}
