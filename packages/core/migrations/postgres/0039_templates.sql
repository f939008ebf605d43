CREATE TABLE "template_versions" (
	"workspace_id" text NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"description" text,
	"category" text NOT NULL,
	"default_locale" text NOT NULL,
	"variables" json NOT NULL,
	"variants" json NOT NULL,
	"plain_texts" json NOT NULL,
	"size_bytes" integer NOT NULL,
	"published_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "template_versions_workspace_id_name_version_pk" PRIMARY KEY("workspace_id","name","version")
);
--> statement-breakpoint
CREATE TABLE "templates" (
	"workspace_id" text NOT NULL,
	"name" text NOT NULL,
	"id" text NOT NULL,
	"description" text,
	"category" text NOT NULL,
	"default_locale" text NOT NULL,
	"variables" json NOT NULL,
	"variants" json NOT NULL,
	"kinds" json NOT NULL,
	"version" integer,
	"is_changed" boolean NOT NULL,
	"published_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "templates_workspace_id_name_pk" PRIMARY KEY("workspace_id","name")
);
--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "template" text;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "template_version" integer;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "template_locale" text;--> statement-breakpoint
CREATE UNIQUE INDEX "templates_id" ON "templates" USING btree ("workspace_id","id");--> statement-breakpoint
CREATE INDEX "messages_template" ON "messages" USING btree ("workspace_id","template","id") WHERE template is not null;