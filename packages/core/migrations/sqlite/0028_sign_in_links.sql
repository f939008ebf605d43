ALTER TABLE `invitations` ADD `invited_by` text;--> statement-breakpoint
ALTER TABLE `members` ADD `invited_by` text;--> statement-breakpoint
ALTER TABLE `members` ADD `invited_at` integer;