//! `create_workflow`: a chain of steps whose outputs flow from agent to agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::workflow::Step;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::{Caller, Tool, ToolError};
use crate::workflow::plan::{Draft, Plan, StepDraft};

pub(crate) struct CreateWorkflow {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// What it is for, in a few words; default: its steps' names.
    name: Option<String>,
    /// In any order; independent steps run in parallel.
    steps: Option<Vec<StepInput>>,
    /// Instead of `name` and `steps`: a plan file (TOML) in the project.
    file: Option<String>,
    /// Only check it and show the order.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StepInput {
    /// Default: its agent's name.
    name: Option<String>,
    /// A profile, or a live agent.
    agent: String,
    /// What to do. {{steps.NAME.output}} inserts an earlier step's output; also .status, .files, .json.FIELD. Outputs of `depends_on` not mentioned here are appended. {{item.FIELD}} with `for_each`.
    prompt: String,
    model: Option<String>,
    /// Start it on this host, as in `assign_task`.
    host: Option<String>,
    /// Steps that must be done first.
    #[serde(default)]
    depends_on: Vec<String>,
    /// Run only if this holds for a step in `depends_on`: "steps.NAME.json.FIELD == VALUE", or .status (done, failed, ...; then it may also fail) or .output; also != < <= > >= contains.
    when: Option<String>,
    /// A list, "steps.NAME.json.FIELD": run this step for each item, in parallel, as NAME.1, NAME.2 and so on.
    for_each: Option<String>,
    /// Time limit of an attempt.
    #[schemars(with = "Option<i64>")]
    timeout_seconds: Option<u64>,
    /// Retries after a failure: 0 to 5.
    #[schemars(with = "Option<i64>")]
    retries: Option<u64>,
    /// Other agents, tried if this one is missing, out of quota, or crashed.
    #[serde(default)]
    fallback: Vec<String>,
    /// Clear the agent's conversation first.
    #[serde(default)]
    fresh: bool,
    /// It starts after `approve_step`.
    #[schemars(extend("enum" = ["human"]))]
    approve: Option<String>,
    /// A program and its arguments, run in the project without a shell once the agent is done: it must exit with 0.
    #[serde(default)]
    gate: Vec<String>,
    /// Its time limit; default 600.
    #[schemars(with = "Option<i64>")]
    gate_seconds: Option<u64>,
    /// Most rounds of this step until its gate passes.
    #[schemars(with = "Option<i64>")]
    repeat: Option<u64>,
    /// Earlier steps repeated with it.
    #[serde(default)]
    repeat_steps: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The workflow; missing after a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow_id: Option<String>,
    /// running; planned after a dry run.
    status: String,
    /// The steps, in the plan's order.
    steps: Vec<PlannedView>,
    /// The order, in groups; steps of a group can run in parallel.
    order: Vec<Vec<String>>,
}

/// A planned step.
#[derive(Serialize, JsonSchema)]
struct PlannedView {
    /// Its name.
    name: String,
    /// Its agent.
    agent: String,
    /// The host that starts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// The steps it depends on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
}

impl From<StepInput> for StepDraft {
    fn from(input: StepInput) -> Self {
        Self {
            name: input.name,
            agent: input.agent,
            prompt: input.prompt,
            model: input.model,
            host: input.host,
            depends_on: input.depends_on,
            when: input.when,
            for_each: input.for_each,
            timeout_seconds: input.timeout_seconds,
            retries: input.retries,
            fallback: input.fallback,
            fresh: input.fresh,
            approve: input.approve,
            gate: input.gate,
            gate_seconds: input.gate_seconds,
            repeat: input.repeat,
            repeat_steps: input.repeat_steps,
        }
    }
}

impl Output {
    fn of(plan: &Plan) -> Self {
        let names = |group: Vec<_>| group.iter().map(ToString::to_string).collect();
        let planned = |step: &Step| PlannedView {
            name: step.name.to_string(),
            agent: step.agent.clone(),
            host: step.host.clone(),
            depends_on: names(step.depends_on.clone()),
        };
        Self {
            workflow_id: None,
            status: "planned".to_owned(),
            steps: plan.steps.iter().map(planned).collect(),
            order: plan.order().into_iter().map(names).collect(),
        }
    }
}

impl Tool for CreateWorkflow {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "create_workflow";
    const DESCRIPTION: &'static str = "Run steps by several agents, in order or in parallel; each \
        gets the output of the steps before it. Returns at once; your inbox reports the end, \
        get_workflow_status the progress. It survives this session.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let workflows = self.leading.workflows_of(caller);
        let (plan, file) = match (input.name, input.steps, input.file) {
            (None, None, Some(file)) => {
                let (plan, file) = workflows.plan_in_file(&file)?;
                (plan, Some(file))
            }
            (name, Some(steps), None) => {
                let steps: Vec<_> = steps.into_iter().map(StepDraft::from).collect();
                let name = name.unwrap_or_else(|| Draft::name_of(&steps));
                (workflows.plan(Draft { name, steps })?, None)
            }
            (_, None, None) => {
                let problem =
                    "`create_workflow` needs `steps`, an array of objects, or `file` alone";
                return Err(ToolError::Arguments(problem.to_owned()));
            }
            (_, _, Some(_)) => {
                let problem = "`file` has the whole plan: leave out `name` and `steps`";
                return Err(ToolError::Arguments(problem.to_owned()));
            }
        };
        let mut output = Output::of(&plan);
        if !input.dry_run {
            let workflow = match &file {
                Some(file) => workflows.create_from(plan, file).await?,
                None => workflows.create(plan).await?,
            };
            output.workflow_id = Some(workflow.id.to_string());
            workflow.status.as_str().clone_into(&mut output.status);
        }
        Ok(output)
    }
}
