import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { number } from '../shell/format.ts'
import { askLater } from '../shell/load.ts'
import { ownApi } from '../shell/own-api.ts'
import { may } from '../shell/session.ts'
import { plural, t } from '../shell/text.ts'

/** A contact as a search shows it. */
export interface FoundPerson {
  id: string
  name: string | null
  phone: string | null
  email: string | null
}

/** The contacts whose words begin with those of the text. */
export async function findPeople(search: string, signal: AbortSignal): Promise<FoundPerson[]> {
  const query = { search, limit: String(SHOWN) }
  const { people } = await ownApi.get<{ people: FoundPerson[] }>('/people', query, signal)
  return people
}

const SHOWN = 8
const TYPING_MS = 150
const TEXT_MAX = 255

/** What to show of a choice below an input. */
export interface Choice {
  key: string
  text: ComponentChildren
  hint?: ComponentChildren
}

/**
 * A list of choices below an input that keeps the focus (ARIA APG, combobox with a listbox): the attributes of the input, and the
 * list to show behind it. The arrow keys choose, Enter takes the choice, Esc closes the list.
 */
export function useListbox<Item>({
  items,
  label,
  choiceOf,
  onChoose,
  isAlwaysOpen = false,
}: {
  items: readonly Item[]
  label: string
  choiceOf(item: Item): Choice
  onChoose(item: Item): void
  /** Whether the list stays, and its first choice is taken without an arrow key. */
  isAlwaysOpen?: boolean
}) {
  const id = useId()
  const first = isAlwaysOpen ? 0 : -1
  const [at, setAt] = useState(first)
  const [isClosed, setClosed] = useState(true)
  const keys = items.map((item) => choiceOf(item).key).join(' ')
  useEffect(() => setAt(first), [keys])
  const isOpen = items.length > 0 && (isAlwaysOpen || !isClosed)
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [at])
  function choose(item: Item) {
    setClosed(true)
    setAt(first)
    onChoose(item)
  }
  function onKeyDown(event: TargetedKeyboardEvent<HTMLInputElement>) {
    if (event.isComposing) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && items.length > 0) {
      event.preventDefault()
      setClosed(false)
      const from = at < 0 && step < 0 ? 0 : at
      setAt((from + step + items.length) % items.length)
    } else if (event.key === 'Enter' && isOpen && items[at] !== undefined) {
      event.preventDefault()
      choose(items[at])
    } else if (event.key === 'Escape' && isOpen && !isAlwaysOpen) {
      // The list closes, and not the dialog around it.
      event.preventDefault()
      event.stopPropagation()
      setClosed(true)
    }
  }
  return {
    input: {
      role: 'combobox',
      autocomplete: 'off',
      'aria-autocomplete': 'list',
      'aria-expanded': isOpen,
      'aria-controls': isOpen ? id : undefined,
      'aria-activedescendant': isOpen && at >= 0 ? `${id}-${at}` : undefined,
      onKeyDown,
      onBlur: () => setClosed(true),
    } as const,
    /** Shows the list, because the person types. */
    open: () => setClosed(false),
    list: (
      <>
        {isOpen && (
          <div class="choices" role="listbox" id={id} aria-label={label}>
            {items.map((item, i) => {
              const { key, text, hint } = choiceOf(item)
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the focus and the keys.
                // biome-ignore lint/a11y/useFocusableInteractive: the input has the focus.
                <div
                  key={key}
                  id={`${id}-${i}`}
                  role="option"
                  aria-selected={i === at}
                  // The focus stays in the input.
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => choose(item)}
                >
                  <bdi>{text}</bdi>
                  {hint && <small>{hint}</small>}
                </div>
              )
            })}
          </div>
        )}
        <span class="unseen" role="status">
          {isOpen &&
            !isAlwaysOpen &&
            plural(
              items.length,
              '{n} suggestion, choose with the arrow keys',
              '{n} suggestions, choose with the arrow keys',
              number(items.length),
            )}
        </span>
      </>
    ),
  }
}

/** The contacts that a typed text may mean, below an input: see `useListbox`. Without `onChoose` there are none. */
export function usePeople(
  text: string,
  onChoose: ((person: FoundPerson) => void) | undefined,
  /** The address that is shown of a contact; null leaves the contact out. */
  addressOf: (person: FoundPerson) => string | null = ({ phone, email }) => phone ?? email,
) {
  const [people, setPeople] = useState<FoundPerson[]>([])
  const isSearched = onChoose !== undefined && may('read')
  const search = text.trim().slice(0, TEXT_MAX)
  useEffect(() => {
    if (!isSearched || search.length < 2) return setPeople([])
    return askLater(
      TYPING_MS,
      (signal) => findPeople(search, signal),
      setPeople,
      () => setPeople([]),
    )
  }, [search, isSearched])
  return useListbox({
    items: people.filter((person) => addressOf(person) !== null),
    label: t('Contacts'),
    choiceOf: (person) => {
      const address = addressOf(person)
      return { key: person.id, text: person.name ?? address, hint: person.name && address }
    },
    onChoose: (person) => onChoose?.(person),
  })
}
