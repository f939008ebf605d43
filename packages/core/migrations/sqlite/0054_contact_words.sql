CREATE TABLE `contact_words` (
	`workspace_id` text NOT NULL,
	`word` text NOT NULL,
	`contact_id` text NOT NULL,
	PRIMARY KEY(`workspace_id`, `word`, `contact_id`)
) STRICT, WITHOUT ROWID;--> statement-breakpoint
-- The words of `wordsOf` in rules/contact-words.ts.
WITH RECURSIVE words (workspace_id, contact_id, n, word, rest) AS (
	SELECT workspace_id, id, 0, '', replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(search_text, char(10), ' '), '-', ' '), '''', ' '), '"', ' '), '(', ' '), ')', ' '), ',', ' '), '/', ' '), '+', ' '), '’', ' ') || ' ' FROM contacts
	UNION ALL
	SELECT workspace_id, contact_id, n + (instr(rest, ' ') > 1), substr(rest, 1, instr(rest, ' ') - 1), substr(rest, instr(rest, ' ') + 1)
	FROM words WHERE rest <> '' AND n < 24
)
INSERT INTO contact_words (workspace_id, word, contact_id)
SELECT DISTINCT workspace_id, lower(hex(substr(word, 1, 40))), contact_id FROM words WHERE word <> '' ORDER BY 1, 2, 3;
